import type { ColumnDefinition, ColumnType } from "../columns/table-schema.ts";
import { TableRefusedError } from "../errors.ts";
import type { Metadata, Protocol } from "./actions.ts";
import { protocolObstacles } from "./known-features.ts";
import { requireWritable } from "./protocol-gate.ts";
import { schemaFields } from "./schema.ts";

/** Why files are rewritten: their rows stay the same, or some are taken out. */
export type Rewriting = "OPTIMIZE" | "DELETE";

const columnTypes: readonly ColumnType[] = ["string", "long", "integer", "boolean", "timestamp", "binary"];

/**
 * Refuses a table whose files must not be rewritten, naming all that stands in the way, before anything is written: what an
 * append must respect, and what asks more of those who remove rows or files.
 */
export function requireRewritable(
  protocol: Protocol,
  metadata: Metadata,
  partitionColumn: string,
  rewriting: Rewriting,
): void {
  requireWritable(protocol, metadata, partitionColumn);
  const reasons = protocolObstacles(protocol, "rewrite");
  if (rewriting === "DELETE") {
    for (const property of ["delta.appendOnly", "delta.enableChangeDataFeed"]) {
      if (metadata.configuration[property]?.toLowerCase() === "true") reasons.push(`${property} = true`);
    }
  }
  for (const { name, type } of dataFields(metadata)) {
    if (!columnTypes.includes(type as ColumnType)) {
      reasons.push(`column ${name} of type ${typeof type === "string" ? type : "struct, array or map"}`);
    }
  }
  if (reasons.length > 0) {
    const instead = rewriting === "DELETE" ? "DELETE" : "OPTIMIZE";
    throw new TableRefusedError(
      `deltacap cannot rewrite the table's files: ${reasons.join("; ")}. Nothing was written; run Spark's ${instead} instead`,
    );
  }
}

/** The columns of the table's files, other writers' included: those of its schema without the partition column. */
export function fileColumnsOf(metadata: Metadata): ColumnDefinition[] {
  const indexed = indexedColumns(metadata);
  return dataFields(metadata).map(({ name, type }) => ({
    name,
    type: type as ColumnType,
    meaning: "",
    statistics: indexed.has(name),
  }));
}

function dataFields({ schemaString, partitionColumns }: Metadata) {
  return schemaFields(schemaString).filter(({ name }) => !partitionColumns.includes(name));
}

const DEFAULT_INDEXED_COLUMNS = 32;

/** Columns that statistics are kept of, as the table's properties say. */
function indexedColumns({ configuration, schemaString }: Metadata): Set<string> {
  const named = configuration["delta.dataSkippingStatsColumns"];
  if (named !== undefined) {
    return new Set(named.split(",").map((name) => name.trim().replace(/^`(.*)`$/, "$1")));
  }
  const count = Number(configuration["delta.dataSkippingNumIndexedCols"] ?? DEFAULT_INDEXED_COLUMNS);
  const names = schemaFields(schemaString).map(({ name }) => name);
  return new Set(count < 0 ? names : names.slice(0, count));
}
