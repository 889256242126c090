import type { Reply } from "./reply.ts";

/**
 * What goes wrong for one client. All but the kills leave the client alive; after a kill nothing that it sends arrives, as if
 * its process had ended there.
 */
export type Effect =
  /** An error reply; nothing is done. */
  | { readonly kind: "refuse"; readonly status: number; readonly code: string }
  /** The connection breaks before anything is done. */
  | { readonly kind: "disconnect" }
  /** Nothing is done, and no reply ever comes. */
  | { readonly kind: "silence" }
  /** It is done, and the connection breaks before the reply. */
  | { readonly kind: "lose reply" }
  /** The reply's body ends after so many bytes: by a broken connection, or by silence. */
  | { readonly kind: "cut" | "stall"; readonly bytes: number }
  | { readonly kind: "kill before" | "kill after" }
  /** It is done, and the reply is another one than it should be. */
  | { readonly kind: "alter"; readonly alter: (reply: Reply) => Reply }
  /** Something happens in between: another writer is faster. */
  | { readonly kind: "meanwhile"; readonly run: () => Promise<void> };

export interface Fault {
  /** `s3:PutObject`, `dynamodb:PutItem`, ... */
  readonly operation: string;
  /** Only requests whose subject (an S3 key, the JSON of the other services) contains or matches this. */
  readonly about?: string | RegExp;
  /** Lets so many of them pass first; default 0. */
  readonly after?: number;
  /** How often; default once. */
  readonly times?: number;
  readonly effect: Effect;
}

export interface RecordedRequest {
  readonly operation: string;
  readonly subject: string;
}

/** Faults to come and requests that came, of one client: shared by its connections to all servers. */
export class Faults {
  /** Every request that arrived, SDK retries included, in order. */
  readonly requests: RecordedRequest[] = [];
  /** Milliseconds that an operation takes at least, the server's own work included, by operation. */
  readonly latency = new Map<string, number>();
  dead = false;
  #planned: { fault: Fault; passed: number; done: number }[] = [];

  plan(...faults: readonly Fault[]): void {
    for (const fault of faults) this.#planned.push({ fault, passed: 0, done: 0 });
  }

  /** Takes note of the request; the effect that hits it, if any. */
  arrived(operation: string, subject: string): Effect | null {
    if (this.dead) return { kind: "disconnect" };
    this.requests.push({ operation, subject });
    for (const planned of this.#planned) {
      const { fault } = planned;
      if (fault.operation !== operation || !isAbout(subject, fault.about ?? "")) continue;
      if (planned.passed < (fault.after ?? 0)) planned.passed++;
      else if (planned.done < (fault.times ?? 1)) {
        planned.done++;
        return fault.effect;
      }
    }
    return null;
  }

  /** Faults that never hit: a test that plans one wants it to. */
  get unused(): readonly Fault[] {
    return this.#planned.filter(({ done }) => done === 0).map(({ fault }) => fault);
  }

  count(operation: string, about = ""): number {
    return this.requests.filter((r) => r.operation === operation && r.subject.includes(about)).length;
  }

  /** Requests by operation. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { operation } of this.requests) counts[operation] = (counts[operation] ?? 0) + 1;
    return counts;
  }

  /** As at the beginning. */
  forget(): void {
    this.requests.length = 0;
    this.latency.clear();
    this.dead = false;
    this.#planned = [];
  }
}

function isAbout(subject: string, about: string | RegExp): boolean {
  return typeof about === "string" ? subject.includes(about) : about.test(subject);
}
