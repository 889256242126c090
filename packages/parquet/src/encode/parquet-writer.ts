import type { RowGroup } from "../columns/row-group.ts";
import type { GroupBounds } from "../columns/statistics.ts";
import type { ColumnDefinition } from "../columns/table-schema.ts";

/** Takes the file's bytes in order; owns each chunk. Resolves when it wants more. */
export type ByteSink = (chunk: Uint8Array) => Promise<void>;

/** A Parquet file being written, row group by row group; memory holds one row group. */
export interface ParquetWriter {
  /**
   * Resolves when the group's arrays may be used again, with the bounds of its columns. Groups without rows are left out;
   * they have none.
   */
  write(group: RowGroup): Promise<GroupBounds>;
  /** Writes the footer; no call may follow. A file without any row group is refused: nobody should put it. */
  finish(): Promise<void>;
  /** Drops what is buffered. Never throws. */
  abort(): Promise<void>;
}

/** Opens a file with these columns: the table's without the partition column. */
export type ParquetWriterFactory = (columns: readonly ColumnDefinition[], sink: ByteSink) => ParquetWriter;
