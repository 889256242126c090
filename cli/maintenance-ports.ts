import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { CheckpointPorts } from "../src/checkpoint-table.ts";
import type { RewritePorts } from "../src/delta/commit-rewrite.ts";
import type { LogStore } from "../src/delta/log-store.ts";
import type { ObjectStore } from "../src/manifest/object-store.ts";
import { nodePageCompressor } from "../src/node/page-compressor.ts";
import { nodePageDecompressors } from "../src/node/page-decompressors.ts";
import { nodeParquetWriter } from "../src/node/parquet.ts";
import { engineInfo } from "../src/settings.ts";

/** What a table's upkeep takes, wherever the table lies. */
export type MaintenancePorts = RewritePorts & CheckpointPorts;

/** A table that a command changes: in a folder, or on S3 beside the writers that it has there. */
export interface MaintainedTable {
  readonly ports: MaintenancePorts;
  /** Removes what killed processes left unfinished before this time. On S3 lifecycle rules do. */
  removeUnfinished(beforeMs: number): Promise<void>;
}

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
