import type { ColumnDefinition, ColumnType } from "@deltacap/parquet";
import type { Metadata, Protocol } from "../actions/actions.ts";
import { protocolObstacles } from "../actions/known-features.ts";
import { schemaFields } from "../actions/schema.ts";
import { TableRefusedError } from "../errors.ts";
import { requireWritable } from "./protocol-gate.ts";

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
  const isOn = (property: string) => metadata.configuration[property]?.toLowerCase() === "true";
  if (rewriting === "DELETE" && isOn(APPEND_ONLY)) throw appendOnlyError();
  if (rewriting === "DELETE" && isOn(CHANGE_DATA_FEED)) reasons.push(`${CHANGE_DATA_FEED} = true`);
  for (const { name, type } of dataFields(metadata)) {
    if (!columnTypes.includes(type as ColumnType)) {
      reasons.push(`column ${name} of type ${typeof type === "string" ? type : "struct, array or map"}`);
    }
  }
  if (reasons.length > 0) {
    throw new TableRefusedError(
      `deltacap cannot rewrite the table's files: ${reasons.join("; ")}. Nothing was written; run Spark's ${rewriting} instead, where Spark may write the table (not with a conditional log store)`,
    );
  }
}

const APPEND_ONLY = "delta.appendOnly";
const CHANGE_DATA_FEED = "delta.enableChangeDataFeed";

/** Every writer refuses to remove rows of such a table, Spark's DELETE as well. */
function appendOnlyError(): TableRefusedError {
  return new TableRefusedError(
    `rows cannot be removed: the table has ${APPEND_ONLY} = true, which forbids it to every writer. Nothing was written. Where its owner agrees, take the property away (ALTER TABLE ... UNSET TBLPROPERTIES ('${APPEND_ONLY}')), repeat this command, and set it again`,
  );
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
