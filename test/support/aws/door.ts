import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Effect, Faults } from "./faults.ts";
import type { Reply } from "./reply.ts";

/** A request, whole. */
export interface Exchange {
  readonly method: string;
  /** As sent, still percent-encoded: a URL parser would resolve `..` in S3 keys. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Where this client reaches the server. */
  readonly origin: string;
  /** Aborted when the client hangs up. */
  readonly gone: AbortSignal;
}

/** A server behind any number of doors. */
export interface Service {
  /** Name of the operation, with the service's prefix, and what it is about: see {@link Faults}. */
  describe(exchange: Exchange): { operation: string; subject: string };
  handle(exchange: Exchange): Promise<Reply>;
  refusal(status: number, code: string): Reply;
}

/** One client's way into a service: its own port, with its own faults and counts. */
export interface Door {
  readonly url: string;
  close(): Promise<void>;
}

export async function openDoor(service: Service, faults: Faults): Promise<Door> {
  let url = "";
  const server = createServer((request, response) => {
    answer(service, faults, url, request, response).catch((error: unknown) => {
      // A bug of the test's server must be seen, and is no reply that a client would retry for long.
      console.error(error);
      response.destroy();
    });
  });
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  service: Service,
  faults: Faults,
  origin: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const exchange = await receive(request, response, origin);
  if (exchange === null) return;
  const { operation, subject } = service.describe(exchange);
  const effect = faults.arrived(operation, subject);
  const latency = faults.latency.get(operation) ?? 0;
  const elapsed = latency === 0 ? null : new Promise((resolve) => setTimeout(resolve, latency));
  if (effect?.kind === "kill before" || effect?.kind === "kill after") faults.dead = true;
  if (effect?.kind === "disconnect" || effect?.kind === "kill before") return void response.destroy();
  if (effect?.kind === "silence") return;
  if (effect?.kind === "refuse") {
    return await send(service.refusal(effect.status, effect.code), exchange.method, response, null);
  }
  if (effect?.kind === "meanwhile") await effect.run();
  const handled = await service.handle(exchange);
  const reply = effect?.kind === "alter" ? effect.alter(handled) : handled;
  await elapsed;
  if (effect?.kind === "lose reply" || effect?.kind === "kill after") return void response.destroy();
  await send(reply, exchange.method, response, effect);
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  origin: string,
): Promise<Exchange | null> {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch {
    return null;
  }
  const target = request.url ?? "/";
  const mark = target.indexOf("?");
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === "string") headers[name] = value;
  }
  return {
    method: request.method ?? "GET",
    path: mark < 0 ? target : target.slice(0, mark),
    query: new URLSearchParams(mark < 0 ? "" : target.slice(mark + 1)),
    headers,
    body: Buffer.concat(chunks),
    origin,
    gone: gone.signal,
  };
}

async function send(reply: Reply, method: string, response: ServerResponse, effect: Effect | null) {
  const body = Buffer.from(reply.body ?? "");
  const length = reply.contentLength ?? body.length;
  response.writeHead(reply.status, { ...reply.headers, "content-length": String(length) });
  if (method === "HEAD" || reply.status === 304) return void response.end();
  if (effect?.kind !== "cut" && effect?.kind !== "stall") return void response.end(body);
  await new Promise((resolve) => response.write(body.subarray(0, effect.bytes), resolve));
  if (effect.kind === "cut") response.destroy();
}
