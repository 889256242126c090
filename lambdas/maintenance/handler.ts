import { Logger } from "@aws-lambda-powertools/logger";
import { Metrics, MetricUnit } from "@aws-lambda-powertools/metrics";
import type { Context } from "aws-lambda";
import { createClients } from "../../src/aws/clients.ts";
import { deployedTable } from "../../src/aws/deployed-table.ts";
import { maintenancePorts } from "../../src/node/maintenance-ports.ts";
import {
  maintenanceReserveSeconds,
  metricsNamespace,
  optimizeDefaults,
  settingsFrom,
} from "../../src/settings.ts";
import { type MaintenanceReport, maintainTable } from "../../src/upkeep/maintain-table.ts";

const HOUR = 3_600_000;

const settings = settingsFrom([
  "stackName",
  "tableUri",
  "tableScheme",
  "logStore",
  "logTable",
  "checkpointInterval",
  "optimize",
  "vacuum",
  "vacuumHours",
]);
const logger = new Logger({ serviceName: "maintenance" });
const metrics = new Metrics({
  namespace: metricsNamespace,
  serviceName: "maintenance",
  defaultDimensions: { stack: settings.stackName },
});
const { log, store, sharedLog } = deployedTable(createClients({}), settings);
const ports = maintenancePorts(log, store);

/** Invoked by a schedule; takes no event. A checkpoint that fails has a metric of its own, and is tried again by the next run. */
export const handler = async (_event: unknown, context: Context): Promise<void> => {
  logger.addContext(context);
  const remaining = context.getRemainingTimeInMillis();
  try {
    const report = await maintainTable(ports, {
      checkpointInterval: settings.checkpointInterval,
      optimize: settings.optimize ? optimizeDefaults : null,
      vacuumMs: settings.vacuum ? settings.vacuumHours * HOUR : null,
      smallBytes: optimizeDefaults.smallBytes,
      deadlineMs: Date.now() + remaining - maintenanceReserveSeconds * 1_000,
    });
    reportCheckpoint(report);
    reportOthers(report);
  } finally {
    await sharedLog?.settled();
    metrics.publishStoredMetrics();
  }
};

function reportCheckpoint({ checkpoint }: MaintenanceReport): void {
  if ("error" in checkpoint) {
    logger.error("checkpoint failed", { error: checkpoint.error as Error, table: settings.tableUri });
    metrics.addMetric("CheckpointFailures", MetricUnit.Count, 1);
    return;
  }
  const { result } = checkpoint;
  logger.info("checkpoint", { ...result, table: settings.tableUri });
  if (result.outcome === "written") metrics.addMetric("Checkpoints", MetricUnit.Count, 1);
}

/** Throws after everything is told, so that the function's own error count has what failed. */
function reportOthers({ smallFiles, optimize, vacuum }: MaintenanceReport): void {
  const failures: unknown[] = [];
  for (const [step, outcome] of Object.entries({ smallFiles, optimize, vacuum })) {
    if (outcome === null || "result" in outcome) continue;
    logger.error(`${step} failed`, { error: outcome.error as Error, table: settings.tableUri });
    failures.push(outcome.error);
  }
  // In every run: the alarm must not wait for a checkpoint.
  if (smallFiles !== null && "result" in smallFiles) {
    metrics.addMetric("SmallFiles", MetricUnit.Count, smallFiles.result);
  }
  if (optimize !== null && "result" in optimize) {
    logger.info("optimize", { ...optimize.result, table: settings.tableUri });
    metrics.addMetric("Optimized", MetricUnit.Count, optimize.result.removedFiles);
  }
  if (vacuum !== null && "result" in vacuum) {
    logger.info("vacuum", { ...vacuum.result, table: settings.tableUri });
    metrics.addMetric("Vacuumed", MetricUnit.Count, vacuum.result.files);
  }
  if (failures.length > 0) throw new AggregateError(failures, "maintenance is not complete");
}
