import { describe, expect, it } from "vitest";
import { nodePageCompressor } from "../../../../src/node/page-compressor.ts";
import { type RandomTable, randomTable } from "../../../../test/support/parquet/random-table.ts";
import {
  gzip,
  metadata,
  readWithHyparquet,
  readWithParquetWasm,
  written,
} from "../../../../test/support/parquet/read-back.ts";
import { rowGroup, type Value } from "../../../../test/support/parquet/table-values.ts";
import { Random, testSeed } from "../../../../test/support/random.ts";
import { groupBounds } from "../../src/columns/statistics.ts";
import type { PageCompressor } from "../../src/encode/page-compressor.ts";
import { type PagedWriterOptions, pagedParquetWriter } from "../../src/encode/paged-writer.ts";

const TABLES = 25;
const seed = testSeed(20_260_801);

const compressors: [string, PageCompressor | null][] = [
  ["no compression", null],
  ["gzip", gzip],
  ["zstd", nodePageCompressor],
];

describe.each(compressors)("random tables with %s", (_, compressor) => {
  it(`come back with equal values and statistics, and the same bytes twice (seed ${seed})`, async () => {
    const random = new Random(seed);
    for (let i = 0; i < TABLES; i++) {
      const table = randomTable(random);
      const label = `table ${i}, limits ${JSON.stringify(table.limits)}`;
      const file = await writeTable(table, { compressor, ...table.limits });
      const again = await writeTable(table, { compressor, ...table.limits });
      expect(Buffer.compare(file, again), `${label}: bytes`).toBe(0);
      const expected = table.columns.map((_, column) => table.groups.flatMap((group) => group[column]!));
      const hyparquet = await readWithHyparquet(file, table.columns);
      const arrow = readWithParquetWasm(file, table.columns);
      table.columns.forEach(({ name }, column) => {
        expectSame(hyparquet[column]!, expected[column]!, `${label}, hyparquet, ${name}`);
        expectSame(arrow[column]!, expected[column]!, `${label}, parquet-wasm, ${name}`);
      });
      checkMetadata(file, table, label);
    }
  });
});

it(`the writer finds the bounds that a search over the row group finds (seed ${seed})`, async () => {
  const random = new Random(seed);
  for (let i = 0; i < TABLES; i++) {
    const { columns, groups, limits } = randomTable(random);
    const writer = pagedParquetWriter({ compressor: null, ...limits })(columns, async () => {});
    for (const values of groups) {
      const group = rowGroup(columns, values);
      const found = await writer.write(group);
      const filtered = found.map((bounds, column) => (columns[column]!.statistics ? bounds : null));
      expect(filtered, `table ${i}`).toEqual(groupBounds(columns, group));
    }
    await writer.abort();
  }
});

function writeTable({ columns, groups }: RandomTable, options: PagedWriterOptions): Promise<Uint8Array> {
  return written(
    pagedParquetWriter(options),
    columns,
    groups.map((group) => rowGroup(columns, group)),
  );
}

function expectSame(actual: readonly Value[], expected: readonly Value[], label: string): void {
  expect(actual.length, label).toBe(expected.length);
  const different = expected.findIndex((value, row) => !isSame(actual[row]!, value));
  if (different >= 0) expect(actual[different], `${label}, row ${different}`).toEqual(expected[different]);
}

function isSame(a: Value, b: Value): boolean {
  if (!(a instanceof Uint8Array) || !(b instanceof Uint8Array)) return a === b;
  return Buffer.compare(a, b) === 0;
}

function checkMetadata(file: Uint8Array, { columns, groups }: RandomTable, label: string): void {
  const footer = metadata(file);
  expect(footer.created_by).toMatch(/^deltacap version \d+\.\d+\.\d+$/);
  expect(footer.num_rows).toBe(BigInt(groups.reduce((rows, group) => rows + group[0]!.length, 0)));
  expect(footer.row_groups.map((group) => Number(group.num_rows))).toEqual(
    groups.map((group) => group[0]!.length),
  );
  let offset = 4;
  footer.row_groups.forEach((group, i) => {
    group.columns.forEach((chunk, column) => {
      const meta = chunk.meta_data!;
      const values = groups[i]![column]!;
      const where = `${label}, row group ${i}, ${columns[column]!.name}`;
      // Chunks lie one behind the other: sizes and offsets are right when each begins where the one before ends.
      expect(Number(meta.dictionary_page_offset ?? meta.data_page_offset), where).toBe(offset);
      offset += Number(meta.total_compressed_size);
      expect(Number(meta.num_values), where).toBe(values.length);
      expect(Number(meta.statistics?.null_count), where).toBe(
        values.filter((value) => value === null).length,
      );
      if (meta.codec === "UNCOMPRESSED") {
        expect(meta.total_compressed_size, where).toBe(meta.total_uncompressed_size);
      }
      checkBounds(meta.statistics ?? {}, columns[column]!, values, where);
    });
    expect(Number(group.total_byte_size)).toBe(
      group.columns.reduce((sum, { meta_data }) => sum + Number(meta_data!.total_uncompressed_size), 0),
    );
  });
  expect(offset).toBe(file.length - footer.metadata_length - 8);
}

interface Bounds {
  readonly min_value?: unknown;
  readonly max_value?: unknown;
  readonly is_min_value_exact?: boolean;
  readonly is_max_value_exact?: boolean;
}

function checkBounds(
  bounds: Bounds,
  column: RandomTable["columns"][number],
  values: readonly Value[],
  where: string,
): void {
  const present = values.filter((value) => value !== null);
  const without =
    present.length === 0 || column.type === "binary" || (column.type === "string" && !column.statistics);
  if (without) {
    expect([bounds.min_value, bounds.max_value], where).toEqual([undefined, undefined]);
    return;
  }
  const least = present.reduce((a, b) => (compare(b, a) < 0 ? b : a));
  const greatest = present.reduce((a, b) => (compare(b, a) > 0 ? b : a));
  if (bounds.is_min_value_exact) expect(bounds.min_value, where).toBe(least);
  else expect(compare(bounds.min_value as Value, least), where).toBeLessThanOrEqual(0);
  if (bounds.is_max_value_exact) expect(bounds.max_value, where).toBe(greatest);
  else if (bounds.max_value !== undefined) {
    expect(compare(bounds.max_value as Value, greatest), where).toBeGreaterThanOrEqual(0);
  }
}

function compare(a: Value, b: Value): number {
  if (typeof a === "string") return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return a! < b! ? -1 : a! > b! ? 1 : 0;
}
