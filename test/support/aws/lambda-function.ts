import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What became of an invocation, as Lambda tells it. */
export type Invocation =
  | { readonly outcome: "response"; readonly response: unknown }
  | { readonly outcome: "error"; readonly errorType: string; readonly errorMessage: string }
  /** The function's process is killed then, as Lambda does it. */
  | { readonly outcome: "timeout" }
  | { readonly outcome: "exit"; readonly code: number | null };

interface Pending {
  readonly id: string;
  readonly event: unknown;
  readonly deadlineMs: number;
  readonly settle: (invocation: Invocation) => void;
  sent: boolean;
}

/**
 * A function's assets in a folder of their own, with nothing else in it, served by Lambda's Runtime API. One invocation at a
 * time, in one process that stays warm until it is killed or times out.
 */
export class LambdaFunction {
  readonly #folder: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #node: string;
  readonly #server: Server;
  #process: ChildProcess | null = null;
  #pending: Pending | null = null;
  /** The runtime's request for the next event, while there is none. */
  #poll: ServerResponse | null = null;
  #invocations = 0;
  /** All that the function wrote: its log, and its metrics in CloudWatch's format. */
  output = "";

  private constructor(assets: string, environment: Readonly<Record<string, string>>, node: string) {
    this.#folder = mkdtempSync(join(tmpdir(), "function-"));
    cpSync(assets, this.#folder, { recursive: true });
    this.#environment = environment;
    this.#node = node;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async open(
    assets: string,
    environment: Readonly<Record<string, string>>,
    node: string = process.execPath,
  ): Promise<LambdaFunction> {
    const opened = new LambdaFunction(assets, environment, node);
    await new Promise<void>((resolve) => opened.#server.listen(0, "127.0.0.1", resolve));
    return opened;
  }

  /** Resolves when the function has answered, failed, or used up its time. */
  async invoke(event: unknown, timeoutMs = 60_000): Promise<Invocation> {
    if (this.#pending !== null) throw new Error("an invocation is under way");
    const invocation = await new Promise<Invocation>((settle) => {
      const id = `request-${++this.#invocations}`;
      const timer = setTimeout(() => {
        settle({ outcome: "timeout" });
        this.kill();
      }, timeoutMs);
      const finish = (result: Invocation) => {
        clearTimeout(timer);
        settle(result);
      };
      this.#pending = { id, event, deadlineMs: Date.now() + timeoutMs, settle: finish, sent: false };
      if (this.#process === null) this.#start();
      else this.#offer();
    });
    this.#pending = null;
    return invocation;
  }

  /** As hard as a machine that fails; an invocation under way ends with it. The next one starts cold. */
  kill(): void {
    this.#process?.kill("SIGKILL");
    this.#process = null;
    this.#poll = null;
    this.#pending?.settle({ outcome: "exit", code: null });
  }

  /** Metrics as they were written, name -> values. */
  metrics(): Map<string, number[]> {
    const metrics = new Map<string, number[]>();
    for (const line of this.output.split("\n")) {
      if (!line.includes('"_aws"')) continue;
      const fields = JSON.parse(line) as Record<string, unknown> & {
        _aws: { CloudWatchMetrics: { Metrics: { Name: string }[] }[] };
      };
      for (const { Name } of fields._aws.CloudWatchMetrics.flatMap(({ Metrics }) => Metrics)) {
        metrics.set(Name, [...(metrics.get(Name) ?? []), ...[fields[Name] as number | number[]].flat()]);
      }
    }
    return metrics;
  }

  async close(): Promise<void> {
    this.kill();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #start(): void {
    const { port } = this.#server.address() as AddressInfo;
    const child = spawn(
      this.#node,
      [join(import.meta.dirname, "lambda-bootstrap.mjs"), join(this.#folder, "index.mjs")],
      {
        cwd: this.#folder,
        // Nothing of this process' environment: what the function needs it must have been told.
        env: { ...this.#environment, AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${port}` },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    this.#process = child;
    const note = (chunk: Buffer) => {
      this.output += chunk.toString();
    };
    child.stdout.on("data", note);
    child.stderr.on("data", note);
    child.on("exit", (code) => {
      if (this.#process !== child) return;
      this.#pending?.settle({ outcome: "exit", code });
      this.kill();
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const path = request.url?.replace("/2018-06-01/runtime/", "") ?? "";
    if (path === "invocation/next") {
      this.#poll = response;
      this.#offer();
      return;
    }
    response.writeHead(202).end();
    const pending = this.#pending;
    if (pending === null) return;
    if (path === `invocation/${pending.id}/response`) {
      pending.settle({ outcome: "response", response: JSON.parse(body) });
    } else if (path === "init/error" || path === `invocation/${pending.id}/error`) {
      const { errorType, errorMessage } = JSON.parse(body) as { errorType: string; errorMessage: string };
      pending.settle({ outcome: "error", errorType, errorMessage });
    }
  }

  #offer(): void {
    const pending = this.#pending;
    if (this.#poll === null || pending === null || pending.sent) return;
    pending.sent = true;
    this.#poll.writeHead(200, {
      "content-type": "application/json",
      "lambda-runtime-aws-request-id": pending.id,
      "lambda-runtime-deadline-ms": String(pending.deadlineMs),
      "lambda-runtime-invoked-function-arn": "arn:aws:lambda:eu-central-1:123456789012:function:test",
    });
    this.#poll.end(JSON.stringify(pending.event));
    this.#poll = null;
  }
}
