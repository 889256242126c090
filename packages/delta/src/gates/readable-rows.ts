import type { Metadata, Protocol } from "../actions/actions.ts";
import { protocolObstacles } from "../actions/known-features.ts";
import { TableRefusedError } from "../errors.ts";

const COLUMN_MAPPING = "delta.columnMapping.mode";

/**
 * Refuses a table whose rows are not what its Parquet files and deletion vectors say under the schema's own names, naming all that
 * stands in the way (Delta protocol, "Requirements for Readers"). What binds only writers does not count.
 */
export function requireReadable(protocol: Protocol, metadata: Metadata): void {
  const obstacles = protocolObstacles({ ...protocol, minWriterVersion: 1, writerFeatures: [] }, "rewrite");
  const mapping = metadata.configuration[COLUMN_MAPPING]?.toLowerCase() ?? "none";
  if (mapping !== "none") obstacles.push(`${COLUMN_MAPPING} = ${mapping}`);
  if (metadata.format.provider !== "parquet") obstacles.push(`format ${metadata.format.provider}`);
  if (obstacles.length === 0) return;
  throw new TableRefusedError(
    `the table asks of its readers what deltacap does not do: ${obstacles.join("; ")}. Read it with Spark, or with DuckDB's delta extension`,
  );
}
