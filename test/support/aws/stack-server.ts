import type { Exchange, Service } from "./door.ts";
import type { Reply } from "./reply.ts";

/** CloudFormation, and the switches of Lambda and EventBridge, on this machine: one stack, one mapping, one rule. */
export class StackServer implements Service {
  readonly #stack: string;
  readonly #outputs: Readonly<Record<string, string>>;
  eventSourceEnabled = true;
  ruleEnabled = true;

  constructor(stack: string, outputs: Readonly<Record<string, string>>) {
    this.#stack = stack;
    this.#outputs = outputs;
  }

  describe(exchange: Exchange): { operation: string; subject: string } {
    return { operation: operationOf(exchange), subject: exchange.path + exchange.body.toString() };
  }

  refusal(status: number, code: string): Reply {
    return queryError(status, code, "injected");
  }

  handle(exchange: Exchange): Promise<Reply> {
    return Promise.resolve(this.#perform(operationOf(exchange), exchange));
  }

  #perform(operation: string, { path, body }: Exchange): Reply {
    switch (operation) {
      case "cloudformation:DescribeStacks":
        return this.#describeStacks(new URLSearchParams(body.toString()).get("StackName") ?? "");
      case "lambda:GET":
      case "lambda:PUT": {
        if (!path.endsWith("/mapping-1")) return json(404, { Type: "User" });
        if (operation === "lambda:PUT")
          this.eventSourceEnabled = (JSON.parse(body.toString()) as { Enabled: boolean }).Enabled;
        return json(200, { UUID: "mapping-1", State: this.eventSourceEnabled ? "Enabled" : "Disabled" });
      }
      case "events:EnableRule":
      case "events:DisableRule":
      case "events:DescribeRule": {
        if ((JSON.parse(body.toString()) as { Name: string }).Name !== "rule-1")
          return json(400, { __type: "ResourceNotFoundException", message: "no such rule" });
        if (operation !== "events:DescribeRule") this.ruleEnabled = operation === "events:EnableRule";
        return json(200, { Name: "rule-1", State: this.ruleEnabled ? "ENABLED" : "DISABLED" });
      }
      default:
        throw new Error(`the test's stack server does not know ${operation}`);
    }
  }

  #describeStacks(name: string): Reply {
    if (name !== this.#stack)
      return queryError(400, "ValidationError", `Stack with id ${name} does not exist`);
    const outputs = Object.entries(this.#outputs).map(
      ([key, value]) =>
        `<member><OutputKey>${key}</OutputKey><OutputValue>${value.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}</OutputValue></member>`,
    );
    return xml(
      200,
      `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>${name}</StackName><CreationTime>2026-01-02T03:04:05Z</CreationTime><StackStatus>CREATE_COMPLETE</StackStatus><Outputs>${outputs.join("")}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`,
    );
  }
}

function operationOf({ method, path, headers, body }: Exchange): string {
  const target = headers["x-amz-target"];
  if (target !== undefined) return `events:${target.split(".").at(-1)}`;
  if (path.startsWith("/2015-03-31/event-source-mappings/")) return `lambda:${method}`;
  return `cloudformation:${new URLSearchParams(body.toString()).get("Action")}`;
}

function queryError(status: number, code: string, message: string): Reply {
  return xml(
    status,
    `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`,
  );
}

function xml(status: number, body: string): Reply {
  return { status, headers: { "content-type": "text/xml" }, body };
}

function json(status: number, body: object): Reply {
  return { status, headers: { "content-type": "application/x-amz-json-1.1" }, body: JSON.stringify(body) };
}
