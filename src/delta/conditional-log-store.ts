import type { ObjectStore } from "../manifest/object-store.ts";
import { parseActions } from "./actions.ts";
import { type CommitOutcome, commitFileName, type LogFile, type LogStore } from "./log-store.ts";

const LOG_FOLDER = "_delta_log/";

/**
 * The log store that needs nothing but put-if-absent (DESIGN.md 7, `conditional`): a folder, or S3 with `If-None-Match`. Not
 * for tables that Spark writes to on S3, whose log store does not look whether a version is there.
 */
export class ConditionalLogStore implements LogStore {
  readonly #store: ObjectStore;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** A put is whole or not there: there is nothing to repair. */
  async repair(): Promise<void> {}

  async *list(from: string): AsyncIterable<LogFile> {
    // `startAfter` excludes: begin just before `from`, and leave out what sorts below it.
    const before = from === "" ? "" : LOG_FOLDER + from.slice(0, -1);
    for await (const { path, size, modifiedMs } of this.#store.list(LOG_FOLDER, before)) {
      const name = path.slice(LOG_FOLDER.length);
      if (name >= from && !name.includes("/")) yield { name, size, modifiedMs };
    }
  }

  read(name: string): Promise<Uint8Array | null> {
    return this.#store.read(LOG_FOLDER + name);
  }

  async commit(version: number, body: Uint8Array): Promise<CommitOutcome> {
    const name = commitFileName(version);
    // The commit point.
    if ((await this.#store.putIfAbsent(LOG_FOLDER + name, body)) === "created") return "committed";
    // A put whose answer was lost and that was sent again finds its own file.
    const existing = await this.read(name);
    return existing !== null && txnIdOf(existing, name) === txnIdOf(body, name) ? "committed" : "conflict";
  }
}

/** Unique to a commit of ours; other writers' may have none. */
export function txnIdOf(body: Uint8Array, file: string): string {
  for (const { commitInfo } of parseActions(body, file)) {
    if (commitInfo?.txnId !== undefined) return commitInfo.txnId;
  }
  return "none";
}
