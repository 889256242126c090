import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { LogStore, ObjectStore } from "@deltacap/delta";
import { engineInfo } from "../settings.ts";
import type { CheckpointPorts } from "../upkeep/checkpoint-table.ts";
import type { RewritePorts } from "../upkeep/commit-rewrite.ts";
import { nodePageCompressor } from "./page-compressor.ts";
import { nodePageDecompressors } from "./page-decompressors.ts";
import { nodeParquetWriter } from "./parquet.ts";

/** What a table's upkeep takes, wherever the table lies. */
export type MaintenancePorts = RewritePorts & CheckpointPorts;

/** With this machine's clock and chance. */
export function maintenancePorts(log: LogStore, table: ObjectStore): MaintenancePorts {
  return {
    log,
    table,
    parquet: nodeParquetWriter,
    decompressors: nodePageDecompressors,
    checkpointCompressor: nodePageCompressor,
    now: Date.now,
    newId: randomUUID,
    random: Math.random,
    sleep: setTimeout,
    engineInfo,
  };
}
