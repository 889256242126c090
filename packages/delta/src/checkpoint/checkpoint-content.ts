import type { ColumnChunk, NestedField, ParquetReader } from "@deltacap/parquet";
import type { LogStore } from "../stores/log-store.ts";
import { type Checkpoint, openCheckpointFile, readable, readCheckpoint, sidecarFile } from "./checkpoint.ts";
import { checkpointSchema } from "./checkpoint-schema.ts";
import { PARSED_STATISTICS } from "./parsed-statistics.ts";

/** Columns of which nothing is lost: they belong to the old checkpoint's own form, or say again what other columns say. */
const DERIVED: ReadonlySet<string> = new Set([
  "checkpointMetadata",
  "sidecar",
  "commitInfo",
  `add.${PARSED_STATISTICS}`,
  "add.partitionValues_parsed",
]);

/**
 * Fields that have values in a checkpoint and no place in one of ours, such as `add.newField`. A new checkpoint would lose them.
 * Of tombstones nothing else is needed: they say which file is gone, and since when.
 *
 * Cost: the footer of each of its Parquet files. A column whose footer does not count its nulls is read.
 */
export async function fieldsWithoutPlace(
  log: Pick<LogStore, "read">,
  checkpoint: Checkpoint,
): Promise<string[]> {
  const sidecars = await readCheckpoint(log, checkpoint, ["sidecar"]);
  const files = [
    ...checkpoint.files.filter(({ name }) => !name.endsWith(".json")),
    ...sidecars.flatMap(({ sidecar }) => (sidecar === undefined ? [] : [sidecarFile(sidecar)])),
  ];
  const found = new Set<string>();
  for (const file of files) {
    const reader = await openCheckpointFile(log, file);
    for (const [index, { columns }] of reader.footer.rowGroups.entries()) {
      for (const chunk of columns) {
        const name = withoutPlace(chunk.field.path);
        if (name === null || found.has(name)) continue;
        if (await hasValues(reader, index, chunk)) found.add(name);
      }
    }
  }
  return [...found];
}

/** The field that has no place, null for a column that has one. */
function withoutPlace(path: readonly string[]): string | null {
  if (path[0] === "remove") return null;
  let fields: readonly NestedField[] = checkpointSchema;
  for (const [depth, name] of path.entries()) {
    const known = path.slice(0, depth + 1).join(".");
    if (DERIVED.has(known)) return null;
    const field = fields.find((each) => each.name === name);
    if (field === undefined) return known;
    if (field.type !== "struct") return null;
    fields = field.fields;
  }
  return null;
}

async function hasValues(
  reader: ParquetReader,
  rowGroup: number,
  { field, statistics, values }: ColumnChunk,
): Promise<boolean> {
  const nulls = statistics?.nullCount ?? null;
  if (nulls !== null) return nulls < values;
  const [bytes] = await readable(
    reader.fetch(reader.footer.rowGroups[rowGroup]!.columns.filter((chunk) => chunk.field === field)),
  );
  let found = false;
  if (bytes === undefined) return found;
  reader.readPages(rowGroup, bytes, null, (page) => {
    found ||= page.values.length > 0;
  });
  return found;
}
