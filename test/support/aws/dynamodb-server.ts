import { Agent, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import dynalite from "dynalite";
import type { Exchange, Service } from "./door.ts";
import type { Reply } from "./reply.ts";

/** How many keys or items of a batch a reply leaves unprocessed: DynamoDB does so whenever it is busy. */
export type Leftover = (operation: "BatchGetItem" | "BatchWriteItem", items: number) => number;

/** dynalite behind doors: what it does is its own, what goes wrong on the way is ours. */
export class DynamoDbServer implements Service {
  /** Default: nothing is left over. */
  leftover: Leftover = () => 0;
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #port: number;

  private constructor(server: Server) {
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  static async start(): Promise<DynamoDbServer> {
    const server = dynalite({ createTableMs: 0 });
    // It would close idle connections, now and then just as the next request is sent.
    server.keepAliveTimeout = 0;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new DynamoDbServer(server);
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  describe(exchange: Exchange): { operation: string; subject: string } {
    return { operation: `dynamodb:${operationOf(exchange)}`, subject: exchange.body.toString() };
  }

  refusal(status: number, code: string): Reply {
    return {
      status,
      headers: { "content-type": "application/x-amz-json-1.0" },
      body: JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${code}`, message: "injected" }),
    };
  }

  async handle(exchange: Exchange): Promise<Reply> {
    const operation = operationOf(exchange);
    if (operation === "BatchGetItem" || operation === "BatchWriteItem") {
      return await this.#batch(operation, exchange);
    }
    return await this.#forward(exchange, exchange.body);
  }

  /** Hides the last entries from dynalite, and returns them as unprocessed. */
  async #batch(operation: "BatchGetItem" | "BatchWriteItem", exchange: Exchange): Promise<Reply> {
    const body = JSON.parse(exchange.body.toString()) as { RequestItems: Record<string, unknown> };
    const [[table, request] = ["", null]] = Object.entries(body.RequestItems);
    const reads = operation === "BatchGetItem";
    const items = (reads ? (request as { Keys: unknown[] }).Keys : request) as unknown[];
    const left = items.splice(items.length - this.leftover(operation, items.length));
    if (left.length === 0) return await this.#forward(exchange, exchange.body);
    const reply: Record<string, unknown> = { Responses: {} };
    if (items.length > 0) {
      const forwarded = await this.#forward(exchange, Buffer.from(JSON.stringify(body)));
      if (forwarded.status !== 200) return forwarded;
      Object.assign(reply, JSON.parse(String(forwarded.body)));
    }
    const unprocessed = reads ? { ...(request as object), Keys: left } : left;
    reply[reads ? "UnprocessedKeys" : "UnprocessedItems"] = { [table]: unprocessed };
    return {
      status: 200,
      headers: { "content-type": "application/x-amz-json-1.0" },
      body: JSON.stringify(reply),
    };
  }

  #forward(exchange: Exchange, body: Buffer): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const { "content-length": _, host: __, connection: ___, ...headers } = exchange.headers;
      const forwarded = request(
        { port: this.#port, host: "127.0.0.1", method: "POST", path: "/", agent: this.#agent, headers },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 500,
              headers: { "content-type": response.headers["content-type"] ?? "application/x-amz-json-1.0" },
              body: Buffer.concat(chunks).toString(),
            }),
          );
        },
      );
      forwarded.on("error", reject);
      forwarded.end(body);
    });
  }
}

function operationOf({ headers }: Exchange): string {
  return (headers["x-amz-target"] ?? "").split(".").at(-1) ?? "";
}
