import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { objectPath } from "@deltacap/delta";
import { type ColumnSource, parquetWriteBuffer } from "hyparquet-writer";
import { temporaryFolder } from "../temporary-folder.ts";

/** A data file of a table that another program wrote. */
export interface ForeignFile {
  /** As the log has it, percent-encoded. */
  readonly path: string;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  readonly columns: readonly ColumnSource[];
}

export interface ForeignTable {
  readonly name?: string;
  /** Column name and its type in Delta's words, in the table's order. */
  readonly fields: readonly (readonly [name: string, type: unknown])[];
  readonly partitionColumns: readonly string[];
  readonly configuration?: Readonly<Record<string, string>>;
  readonly files: readonly ForeignFile[];
}

/** Writes a Delta table that is not one of ours, at version 0. Returns its folder. */
export function foreignTable({
  name,
  fields,
  partitionColumns,
  configuration = {},
  files,
}: ForeignTable): string {
  const folder = join(temporaryFolder(), "foreign");
  mkdirSync(join(folder, "_delta_log"), { recursive: true });
  const metaData = {
    id: "0949b18b-0120-4ce3-9dab-2c4ce0f8ba92",
    ...(name === undefined ? {} : { name }),
    format: { provider: "parquet", options: {} },
    schemaString: JSON.stringify({
      type: "struct",
      fields: fields.map(([field, type]) => ({ name: field, type, nullable: true, metadata: {} })),
    }),
    partitionColumns,
    configuration,
  };
  const adds = files.map(({ path, partitionValues, columns }) => {
    const bytes = new Uint8Array(parquetWriteBuffer({ columnData: [...columns] }));
    const place = join(folder, objectPath(path));
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, bytes);
    return { add: { path, partitionValues, size: bytes.length, modificationTime: 1, dataChange: true } };
  });
  const lines = [{ protocol: { minReaderVersion: 1, minWriterVersion: 2 } }, { metaData }, ...adds];
  writeFileSync(
    join(folder, "_delta_log", `${"0".repeat(20)}.json`),
    lines.map((line) => JSON.stringify(line)).join("\n"),
  );
  return folder;
}
