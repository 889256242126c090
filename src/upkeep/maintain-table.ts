import type { ReconciledLog } from "@deltacap/delta";
import { type CheckpointPorts, type CheckpointResult, checkpointTable } from "./checkpoint-table.ts";
import type { RewritePorts } from "./commit-rewrite.ts";
import { type OptimizeLimits, type OptimizeResult, optimizeTable } from "./optimize-table.ts";
import { LEAST_RETENTION, type VacuumResult, vacuumTable } from "./vacuum-table.ts";

/** Which upkeep is done. */
export interface MaintenanceSettings {
  /** Versions between two checkpoints, where the table's properties do not say it. */
  readonly checkpointInterval: number;
  /** Null: small files are left as they are. */
  readonly optimize: OptimizeLimits | null;
  /**
   * Milliseconds for which files that no version refers to are kept, but at least a week and as long as the table's properties say;
   * null: they are kept for ever.
   */
  readonly vacuumMs: number | null;
  /** A file under this size is counted as small. */
  readonly smallBytes: number;
  /** Epoch milliseconds, by the ports' clock, after which nothing further is started. */
  readonly deadlineMs: number;
}

/** A step's result, or why it failed. */
export type Step<Result> = { readonly result: Result } | { readonly error: unknown };

/** What was done; a task that failed says so and does not stop the others. */
export interface MaintenanceReport {
  readonly checkpoint: Step<CheckpointResult>;
  /** Small files before anything was rewritten; null where there is no table, or its log cannot be read. */
  readonly smallFiles: Step<number> | null;
  /** Null where it was not to be done, as with the next. */
  readonly optimize: Step<OptimizeResult> | null;
  readonly vacuum: Step<VacuumResult> | null;
}

/**
 * What a table needs beside its commits: the checkpoint that is due, and where wanted small files rewritten and
 * unused files deleted. A step that fails keeps no other from being done: see the report. Appends go on meanwhile.
 */
export async function maintainTable(
  ports: CheckpointPorts & RewritePorts,
  settings: MaintenanceSettings,
): Promise<MaintenanceReport> {
  const { checkpointInterval: interval, optimize, vacuumMs, smallBytes, deadlineMs } = settings;
  let small = 0;
  const onFile = ({ size }: { readonly size: number }) => {
    if (size < smallBytes) small++;
  };
  const found: { state: ReconciledLog | null } = { state: null };
  const onState = (state: ReconciledLog) => {
    found.state = state;
  };
  // First: whoever reads the table waits for it, and what comes after it reads the table, too.
  const checkpoint = await step(() => checkpointTable(ports, { interval, onState, onFile }));
  const outcome = "result" in checkpoint ? checkpoint.result.outcome : "failed";
  const isTable = outcome !== "no table";
  // Of every run, since their alarm must not wait for a checkpoint; files that could not be listed fail no checkpoint that is not due.
  const { state } = found;
  const isCounted = outcome === "written" || outcome === "exists";
  const smallFiles = isCounted
    ? { result: small }
    : state && (await step(() => countSmall(state, smallBytes)));
  const goesOn = () => isTable && ports.now() < deadlineMs;
  return {
    checkpoint,
    smallFiles,
    optimize:
      optimize === null || !goesOn()
        ? null
        : await step(() => optimizeTable(ports, optimize, { deadlineMs })),
    vacuum:
      vacuumMs === null || !goesOn()
        ? null
        : await step(() => vacuumTable(ports, { ...retention(vacuumMs), delete: true, deadlineMs })),
  };
}

async function countSmall(state: ReconciledLog, smallBytes: number): Promise<number> {
  let small = 0;
  for await (const actions of state.files()) {
    for (const { add } of actions) if (add !== undefined && add.size < smallBytes) small++;
  }
  return small;
}

/** Up to a week it is left to the table, which may ask for more. */
function retention(vacuumMs: number): { retentionMs?: number } {
  return vacuumMs > LEAST_RETENTION ? { retentionMs: vacuumMs } : {};
}

async function step<Result>(work: () => Promise<Result>): Promise<Step<Result>> {
  try {
    return { result: await work() };
  } catch (error) {
    return { error };
  }
}
