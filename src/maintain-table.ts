import { type CheckpointPorts, type CheckpointResult, checkpointTable } from "./checkpoint-table.ts";
import type { RewritePorts } from "./delta/commit-rewrite.ts";
import { liveFiles } from "./delta/reconcile.ts";
import { type OptimizeLimits, type OptimizeResult, optimizeTable } from "./optimize-table.ts";
import { LEAST_RETENTION, type VacuumResult, vacuumTable } from "./vacuum-table.ts";

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
  /** Milliseconds since 1970, by the ports' clock: nothing is begun after it. */
  readonly deadlineMs: number;
}

/** A step's result, or why it failed. */
export type Step<Result> = { readonly result: Result } | { readonly error: unknown };

export interface MaintenanceReport {
  readonly checkpoint: Step<CheckpointResult>;
  /** Small files before anything was rewritten; null where there is no table, or its files cannot be listed. */
  readonly smallFiles: number | null;
  /** Null where it was not to be done, as with the next. */
  readonly optimize: Step<OptimizeResult> | null;
  readonly vacuum: Step<VacuumResult> | null;
}

/**
 * What a table needs beside its commits (DESIGN.md 8): the checkpoint that is due, and where wanted small files rewritten and
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
  // First: whoever reads the table waits for it, and what comes after it reads the table, too.
  const checkpoint = await step(() => checkpointTable(ports, { interval, onFile }));
  const failed = "error" in checkpoint;
  const isTable = failed || checkpoint.result.outcome !== "no table";
  const smallFiles = failed ? await countSmall(ports, smallBytes) : isTable ? small : null;
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

/** For a run whose checkpoint failed on its way. A failure here has the same cause, which is told already. */
async function countSmall({ log }: RewritePorts, smallBytes: number): Promise<number | null> {
  let small = 0;
  const counted = await step(async () => {
    for await (const adds of liveFiles(log)) small += adds.filter(({ size }) => size < smallBytes).length;
  });
  return "result" in counted ? small : null;
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
