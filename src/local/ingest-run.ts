import { randomBytes, randomUUID } from "node:crypto";
import type { ObjectStore } from "@deltacap/delta";
import { hasEnded, type ProcessIdentity, processIdentity } from "./process-identity.ts";

/** Markers of runs lie here: engines skip folders that begin with `_`. */
const FOLDER = "_deltacap/runs/";
const MARKER = /^_deltacap\/runs\/([0-9a-f]{16})\.json$/;

/** A run that is over, and may have left files that nobody committed. */
export interface EndedRun {
  readonly id: string;
  readonly marker: string;
  /** ISO 8601. */
  readonly began: string;
}

/**
 * A run of `ingest` on a table in a folder. While it goes on, a marker in the folder names its process, and all its files begin with
 * its id: so that a later run knows which files a killed one has left.
 */
export class IngestRun {
  /** 16 hex digits. */
  readonly id = randomBytes(8).toString("hex");

  /** Puts the marker, on the disk when this resolves. */
  async begin(table: ObjectStore, nowMs: number): Promise<void> {
    const marker = { began: new Date(nowMs).toISOString(), process: await processIdentity() };
    await table.putIfAbsent(markerPath(this.id), new TextEncoder().encode(JSON.stringify(marker)));
  }

  /** Removes the marker. Only for a run whose files are all committed: the marker is what leads to the others. */
  async end(table: ObjectStore): Promise<void> {
    await table.remove([markerPath(this.id)]);
  }
}

/** A fresh id of a batch, or of an unfinished file, of the run with this id. */
export function batchIdOf(runId: string): string {
  return `${runId}-${randomUUID()}`;
}

/** Runs whose process has certainly ended. A marker that makes no sense is passed over. */
export async function endedRuns(table: ObjectStore): Promise<EndedRun[]> {
  const ended: EndedRun[] = [];
  for await (const { path } of table.list(FOLDER)) {
    const id = MARKER.exec(path)?.[1];
    const bytes = id === undefined ? null : await table.read(path);
    const marker = bytes === null ? null : parseMarker(new TextDecoder().decode(bytes));
    if (id === undefined || marker === null || !(await hasEnded(marker.process))) continue;
    ended.push({ id, marker: path, began: marker.began });
  }
  return ended;
}

function markerPath(id: string): string {
  return `${FOLDER}${id}.json`;
}

function parseMarker(text: string): { readonly began: string; readonly process: ProcessIdentity } | null {
  try {
    const { began, process } = JSON.parse(text) as { began?: unknown; process?: Record<string, unknown> };
    const { host, machine, boot, pidNamespace, pid, started } = process ?? {};
    if (typeof began !== "string" || typeof host !== "string" || typeof pid !== "number") return null;
    if (!Number.isSafeInteger(pid) || pid <= 0) return null;
    const known = { machine: textOf(machine), boot: textOf(boot), pidNamespace: textOf(pidNamespace) };
    return { began, process: { host, pid, started: textOf(started), ...known } };
  } catch {
    return null;
  }
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
