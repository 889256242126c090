import type { DataFileReader } from "@deltacap/delta";
import type { ColumnDefinition, ParquetFile } from "@deltacap/parquet";
import { RowGroupBuilder, type SparseRowGroup } from "@deltacap/parquet";
import { RowOrder } from "../packets/row-order.ts";
import { type MergeInput, mergedSpans } from "./merge-row-groups.ts";

/** Bounds of the row groups that are written. */
export interface RowGroupLimits {
  readonly rows: number;
  /** Bytes of frames and texts. */
  readonly frameBytes: number;
}

/** Whether a row stays, by the group it is in. */
export type RowFilter = (group: SparseRowGroup, row: number) => boolean;

/** The files' row groups, ready to be merged. */
export function mergeInputs(
  files: readonly DataFileReader[],
  columns: readonly ColumnDefinition[],
): MergeInput[] {
  const order = new RowOrder(columns);
  return files.flatMap((file) =>
    file.rowGroups.map((summary, index) => ({
      range: order.rangeOf(summary),
      memoryBytes: summary.memoryBytes,
      readingBytes: summary.readingBytes,
      path: file.path,
      read: async () => await file.read(index),
    })),
  );
}

/** Writes the rows of all files, sorted, into one. The caller finishes the file, or aborts it. */
export async function mergeFiles(
  files: readonly DataFileReader[],
  columns: readonly ColumnDefinition[],
  limits: RowGroupLimits,
  output: ParquetFile,
): Promise<void> {
  const rows = new RowGroupOutput(columns, limits, output);
  for await (const { group, from, to } of mergedSpans(mergeInputs(files, columns), columns)) {
    await rows.append(group, from, to);
  }
  await rows.flush();
}

/** Writes the rows of one file that the filter lets pass, in their order, into another. Memory holds one row group. */
export async function filterFile(
  file: DataFileReader,
  columns: readonly ColumnDefinition[],
  keep: RowFilter,
  limits: RowGroupLimits,
  output: ParquetFile,
): Promise<void> {
  const rows = new RowGroupOutput(columns, limits, output);
  for (const index of file.rowGroups.keys()) {
    const group = await file.read(index);
    let from = 0;
    while (from < group.rows) {
      if (!keep(group, from)) {
        from++;
        continue;
      }
      let to = from + 1;
      while (to < group.rows && keep(group, to)) to++;
      await rows.append(group, from, to);
      from = to;
    }
  }
  await rows.flush();
}

/** Rows on their way into a file, written out whenever a row group is full. */
class RowGroupOutput {
  readonly #builder: RowGroupBuilder;
  readonly #limits: RowGroupLimits;
  readonly #file: ParquetFile;

  constructor(columns: readonly ColumnDefinition[], limits: RowGroupLimits, file: ParquetFile) {
    this.#builder = new RowGroupBuilder(columns);
    this.#limits = limits;
    this.#file = file;
  }

  async append(group: SparseRowGroup, from: number, to: number): Promise<void> {
    const { rows, frameBytes } = this.#limits;
    while (from < to) {
      // In steps, since a span may be a whole row group with frames of any size.
      const end = Math.min(to, from + Math.min(STEP, rows - this.#builder.rows));
      this.#builder.append(group, from, end);
      from = end;
      if (this.#builder.rows >= rows || this.#builder.bytes >= frameBytes) await this.flush();
    }
  }

  async flush(): Promise<void> {
    if (this.#builder.rows === 0) return;
    await this.#file.write(this.#builder.take());
    this.#builder.clear();
  }
}

/** Rows between two looks at the bytes: of most links 64 frames have at most 16 MiB, of all no more than the row group they come from. */
const STEP = 64;
