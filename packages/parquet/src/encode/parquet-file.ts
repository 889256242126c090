import type { RowGroup } from "../columns/row-group.ts";
import { type ColumnStatistics, FileStatistics } from "../columns/statistics.ts";
import type { ColumnDefinition } from "../columns/table-schema.ts";
import type { ParquetWriter, ParquetWriterFactory } from "./parquet-writer.ts";

/** The object a file is written to: nothing is visible under its path before `commit`. */
export interface NewObject {
  write(chunk: Uint8Array): Promise<void>;
  commit(): Promise<"created" | "exists">;
  abort(): Promise<void>;
}

/** A Parquet file that was put. */
export interface WrittenFile {
  /** Relative to the table's folder. */
  readonly path: string;
  readonly size: number;
  readonly rows: number;
  /** Value of the partition column. */
  readonly date: string | null;
  readonly statistics: readonly ColumnStatistics[];
}

/** One Parquet file of the table on its way to the store, with its statistics. */
export class ParquetFile {
  /** Bytes written so far. */
  size = 0;
  readonly #path: string;
  readonly #date: string | null;
  readonly #object: NewObject;
  readonly #writer: ParquetWriter;
  readonly #statistics: FileStatistics;

  constructor(
    path: string,
    date: string | null,
    parquet: ParquetWriterFactory,
    create: (path: string) => NewObject,
    columns: readonly ColumnDefinition[],
  ) {
    this.#path = path;
    this.#date = date;
    this.#object = create(path);
    this.#statistics = new FileStatistics(columns);
    this.#writer = parquet(columns, async (chunk) => {
      this.size += chunk.length;
      await this.#object.write(chunk);
    });
  }

  /** The group's arrays are free again when this resolves. */
  async write(group: RowGroup): Promise<void> {
    this.#statistics.add(group, await this.#writer.write(group));
  }

  /** Puts the file. Its name holds the batch's random id: if it is taken, the id was used twice, which is a bug. */
  async finish(): Promise<WrittenFile> {
    await this.#writer.finish();
    if ((await this.#object.commit()) === "exists") {
      throw new Error(`${this.#path} exists already: a batch id must be used for one batch only`);
    }
    const { rows } = this.#statistics;
    return {
      path: this.#path,
      size: this.size,
      rows,
      date: this.#date,
      statistics: this.#statistics.columns(),
    };
  }

  /** Never throws. */
  async abort(): Promise<void> {
    await this.#writer.abort();
    await this.#object.abort();
  }
}
