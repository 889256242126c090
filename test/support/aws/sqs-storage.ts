import type { Clock } from "./clock.ts";

export interface StoredMessage {
  readonly id: string;
  readonly body: string;
  /** Name -> string value. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly sentMs: number;
  receiveCount: number;
  visibleAtMs: number;
  /** Of the newest delivery. */
  receipt: string;
}

export interface QueueSettings {
  /** Seconds. */
  readonly visibilityTimeout?: number;
  readonly maximumMessageSize?: number;
  readonly redrive?: { readonly queue: string; readonly maxReceiveCount: number };
}

/** SQS's refusals. */
export class SqsRefusal extends Error {
  readonly code: string;

  constructor(code: string, detail = "") {
    super(`${code} ${detail}`);
    this.code = code;
  }
}

/** What SQS allows in a message (the characters of XML 1.0). */
const FORBIDDEN = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

/** Queues in memory with SQS's rules: standard queues, at least once, time by the given clock. */
export class SqsStorage {
  readonly clock: Clock;
  readonly #queues = new Map<string, Queue>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  createQueue(name: string, settings: QueueSettings = {}): Queue {
    const queue = new Queue(this, name, settings);
    this.#queues.set(name, queue);
    return queue;
  }

  queue(name: string): Queue {
    const queue = this.#queues.get(name);
    if (queue === undefined) throw new SqsRefusal("QueueDoesNotExist", name);
    return queue;
  }
}

export class Queue {
  readonly name: string;
  readonly settings: Required<Omit<QueueSettings, "redrive">> & Pick<QueueSettings, "redrive">;
  /** All that is in the queue, in flight or not: open to tests. */
  readonly messages: StoredMessage[] = [];
  readonly #storage: SqsStorage;
  readonly #waiting = new Set<() => void>();
  #counter = 0;

  constructor(storage: SqsStorage, name: string, settings: QueueSettings) {
    this.#storage = storage;
    this.name = name;
    this.settings = { visibilityTimeout: 30, maximumMessageSize: 262_144, ...settings };
  }

  send(body: string, attributes: Readonly<Record<string, string>> = {}): StoredMessage {
    const size = messageSize(body, attributes);
    if (size > this.settings.maximumMessageSize) {
      throw new SqsRefusal("InvalidParameterValue", `a message of ${size} bytes`);
    }
    if (body === "") throw new SqsRefusal("InvalidParameterValue", "an empty message");
    if (FORBIDDEN.test(body) || Object.values(attributes).some((value) => FORBIDDEN.test(value))) {
      throw new SqsRefusal("InvalidMessageContents");
    }
    const now = this.#storage.clock.now();
    const id = `${this.name}-${++this.#counter}`;
    const message = { id, body, attributes, sentMs: now, receiveCount: 0, visibleAtMs: now, receipt: "" };
    this.messages.push(message);
    for (const wake of this.#waiting) wake();
    return message;
  }

  /** Waits for messages at most `waitSeconds`; at once when there are some, or when the client hangs up. */
  async receive(limit: number, waitSeconds: number, visibility: number | null, gone: AbortSignal) {
    const found = this.#take(limit, visibility);
    if (found.length > 0 || waitSeconds === 0) return found;
    const { clock } = this.#storage;
    await new Promise<void>((resolve) => {
      const cancels: (() => void)[] = [];
      const finish = () => {
        for (const cancel of cancels) cancel();
        this.#waiting.delete(finish);
        gone.removeEventListener("abort", finish);
        resolve();
      };
      cancels.push(clock.after(waitSeconds * 1000, finish));
      // A message in flight may become visible while the poll is open.
      const nextVisible = Math.min(...this.messages.map((message) => message.visibleAtMs));
      if (nextVisible < clock.now() + waitSeconds * 1000) {
        cancels.push(clock.after(nextVisible - clock.now(), finish));
      }
      this.#waiting.add(finish);
      gone.addEventListener("abort", finish);
    });
    return gone.aborted ? [] : this.#take(limit, visibility);
  }

  delete(receipt: string): void {
    const at = this.messages.findIndex((message) => message.receipt === receipt && receipt !== "");
    // A receipt of an earlier delivery deletes nothing, and SQS calls that success.
    if (at >= 0) this.messages.splice(at, 1);
  }

  changeVisibility(receipt: string, seconds: number): void {
    const message = this.messages.find((candidate) => candidate.receipt === receipt);
    const now = this.#storage.clock.now();
    if (message === undefined || message.visibleAtMs <= now) throw new SqsRefusal("MessageNotInflight");
    message.visibleAtMs = now + seconds * 1000;
    if (seconds === 0) for (const wake of this.#waiting) wake();
  }

  counts(): { visible: number; inFlight: number } {
    const now = this.#storage.clock.now();
    const visible = this.messages.filter((message) => message.visibleAtMs <= now).length;
    return { visible, inFlight: this.messages.length - visible };
  }

  #take(limit: number, visibility: number | null): StoredMessage[] {
    const now = this.#storage.clock.now();
    const { redrive, visibilityTimeout } = this.settings;
    const taken: StoredMessage[] = [];
    for (const message of [...this.messages]) {
      if (taken.length === limit) break;
      if (message.visibleAtMs > now) continue;
      if (redrive !== undefined && message.receiveCount >= redrive.maxReceiveCount) {
        this.messages.splice(this.messages.indexOf(message), 1);
        this.#storage.queue(redrive.queue).send(message.body, message.attributes);
        continue;
      }
      message.receiveCount++;
      message.receipt = `${message.id}#${message.receiveCount}`;
      message.visibleAtMs = now + (visibility ?? visibilityTimeout) * 1000;
      taken.push(message);
    }
    return taken;
  }
}

export function messageSize(body: string, attributes: Readonly<Record<string, string>>): number {
  let size = Buffer.byteLength(body);
  for (const [name, value] of Object.entries(attributes)) {
    size += Buffer.byteLength(name) + "String".length + Buffer.byteLength(value);
  }
  return size;
}
