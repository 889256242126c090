import type { Action, Add } from "../actions/actions.ts";
import { logicalFile } from "../actions/logical-file.ts";
import type { LogStore } from "../stores/log-store.ts";
import { listVersions, readCommits } from "./snapshot.ts";

/**
 * What others commit while files of one version are being rewritten: whether they took any of these files, or changed the table
 * so that the rewriting must be judged anew. Appends do neither.
 */
export class LogFollower {
  /** All commits up to this version have been looked at. */
  version: number;
  /** Why nothing more may be committed on what was read at the first version; null while it may. */
  changed: string | null = null;
  readonly #log: LogStore;
  readonly #watched: Set<string>;
  readonly #taken = new Set<string>();

  /** `files`: those that may be rewritten, live at `version`. Memory: their paths. */
  constructor(log: LogStore, version: number, files: readonly Add[]) {
    this.#log = log;
    this.version = version;
    this.#watched = new Set(files.map(pathOf));
  }

  /** Looks at what was committed since. Throws `TableRefusedError` for a log that cannot be read. */
  async advance(): Promise<void> {
    const versions = await listVersions(this.#log, this.version + 1);
    for await (const { version, actions } of readCommits(this.#log, versions)) {
      this.#look(version, actions);
      this.version = version;
    }
  }

  /** Whether another commit removed the file, or added it anew (with a deletion vector, say). */
  isTaken(file: Add): boolean {
    return this.#taken.has(pathOf(file));
  }

  #look(version: number, actions: readonly Action[]): void {
    for (const { protocol, metaData, add, remove } of actions) {
      if (protocol !== undefined) this.changed = `version ${version} changed the table's protocol`;
      if (metaData !== undefined)
        this.changed = `version ${version} changed the table's schema or properties`;
      for (const file of [add, remove]) {
        if (file === undefined) continue;
        const path = pathOf(file);
        if (this.#watched.has(path)) this.#taken.add(path);
      }
    }
  }
}

/** The data file's, whatever deletion vector it has. */
function pathOf({ path }: { readonly path: string }): string {
  return logicalFile({ path });
}
