import type { DeletionVector, Protocol } from "@deltacap/delta";
import { stringifyJson } from "@deltacap/delta";
import { type ColumnSource, parquetWriteBuffer } from "hyparquet-writer";

/** A file as the model has it: its rows are the values of column `n`. */
export interface ModelFile {
  /** Not encoded. */
  readonly path: string;
  /** As whoever added it encodes it: by that it is known. */
  readonly encodedPath: string;
  readonly date: string | null;
  readonly values: readonly bigint[];
  readonly columns: readonly string[];
  readonly size: number;
  /** Id of the deletion vector that took rows out of it. */
  readonly vector: string | null;
}

/** What a table is at one version. */
export interface TableModel {
  readonly version: number;
  readonly protocol: Protocol;
  readonly columns: readonly string[];
  readonly configuration: Readonly<Record<string, string>>;
  readonly transactions: ReadonlyMap<string, number>;
  readonly domains: ReadonlyMap<string, string>;
  /** By logical file. */
  readonly files: ReadonlyMap<string, ModelFile>;
  /** Logical files that were removed and are not back. */
  readonly removed: ReadonlyMap<string, ModelFile>;
}

/** What tells two files of a table apart. */
export function logicalKey({ path, vector }: Pick<ModelFile, "path" | "vector">): string {
  return vector === null ? path : `${path} with ${vector}`;
}

/** The descriptor of a vector that is nowhere: its id is all that tells logical files apart. */
export function vectorOf(id: string): DeletionVector {
  const [rest = "", offset] = id.slice(1).split("@");
  return {
    storageType: "u",
    pathOrInlineDv: rest,
    offset: Number(offset),
    sizeInBytes: 40,
    cardinality: 1,
  };
}

/** A commit or a V2 checkpoint. */
export function bytesOf(lines: readonly object[]): Uint8Array {
  return new TextEncoder().encode(lines.map(stringifyJson).join("\n"));
}

/** A data file: column `n` has the values, every other column ten times as much. */
export function parquetOf(values: readonly bigint[], columns: readonly string[]): Uint8Array {
  const columnData: ColumnSource[] = columns.map((name) => ({
    name,
    data: values.map((value) => (name === "n" ? value : value * 10n)),
    type: "INT64",
    nullable: true,
  }));
  return new Uint8Array(parquetWriteBuffer({ columnData }));
}
