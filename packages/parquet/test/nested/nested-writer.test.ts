import { parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { describe, expect, test } from "vitest";
import { nodePageCompressor } from "../../../../src/node/page-compressor.ts";
import { Random } from "../../../../test/support/random.ts";
import type { PageCompressor } from "../../src/encode/page-compressor.ts";
import type { NestedField } from "../../src/nested/nested-schema.ts";
import { NestedWriter, type NestedWriterLimits } from "../../src/nested/nested-writer.ts";

const FIELDS: readonly NestedField[] = [
  {
    name: "file",
    type: "struct",
    fields: [
      { name: "path", type: "string" },
      { name: "size", type: "long" },
      { name: "rows", type: "integer" },
      { name: "live", type: "boolean" },
      { name: "tags", type: "map" },
      {
        name: "inner",
        type: "struct",
        fields: [
          { name: "options", type: "map" },
          { name: "id", type: "string" },
        ],
      },
    ],
  },
  { name: "features", type: "struct", fields: [{ name: "names", type: "list" }] },
  { name: "flat", type: "string" },
];

type Row = Readonly<Record<string, unknown>>;

async function written(
  rows: readonly Row[],
  limits: NestedWriterLimits = { rows: 1000, bytes: 1 << 20 },
  compressor: PageCompressor | null = null,
): Promise<ArrayBuffer> {
  const chunks: Uint8Array[] = [];
  const writer = new NestedWriter(FIELDS, compressor, limits, async (chunk) => void chunks.push(chunk));
  for (const row of rows) await writer.write(row);
  await writer.finish();
  return Uint8Array.from(Buffer.concat(chunks)).buffer;
}

/** Rows as hyparquet gives them, nulls left out. */
async function readBack(file: ArrayBuffer): Promise<unknown[]> {
  return (await parquetReadObjects({ file, compressors })).map((row) => present(row));
}

function present(value: unknown, inContainer = false): unknown {
  if (Array.isArray(value)) return value.map((item) => present(item ?? null));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(
    ([, member]) => inContainer || (member !== null && member !== undefined),
  );
  return Object.fromEntries(
    members.map(([name, member]) => [name, present(member, name === "tags" || name === "options")]),
  );
}

describe("records are read back as they were written", () => {
  test.each<[string, Row]>([
    ["nothing", {}],
    ["a null struct", { file: null, flat: "x" }],
    ["a struct of nulls", { file: { path: "a" } }],
    ["an empty map", { file: { tags: {} } }],
    ["a map with a null", { file: { tags: { a: "1", b: null, "": "" } } }],
    ["an inner struct", { file: { inner: { options: { o: "p" }, id: "i" } } }],
    ["an inner struct of an empty map", { file: { inner: { options: {} } } }],
    ["an empty list", { features: { names: [] } }],
    ["a list", { features: { names: ["a", "", "a"] } }],
    ["texts", { flat: "é\u{1f697}\0" }],
    ["booleans", { file: { live: false } }],
    ["extreme numbers", { file: { size: -(2n ** 63n), rows: -(2 ** 31) } }],
    ["more extreme numbers", { file: { size: 2n ** 63n - 1n, rows: 2 ** 31 - 1 } }],
  ])("%s", async (_, row) => {
    const rows = [row, { flat: "between" }, row];
    expect(await readBack(await written(rows))).toEqual(rows.map((each) => present(each)));
  });

  test("random records in many row groups, compressed (seed 71)", async () => {
    const random = new Random(71);
    const pick = <T>(...choices: readonly T[]): T => random.pick(choices);
    const text = () => "x".repeat(random.below(40)) + random.below(1000);
    const map = () =>
      Object.fromEntries(Array.from({ length: random.below(4) }, (_, i) => [`k${i}`, pick(null, text())]));
    const rows = Array.from({ length: 700 }, () => ({
      file: pick(null, {
        path: text(),
        size: pick(null, BigInt(random.below(1 << 30))),
        rows: pick(null, random.below(100)),
        live: pick(null, true, false),
        tags: pick(null, map()),
        inner: pick(null, { options: pick(null, map()), id: pick(null, text()) }),
      }),
      features: pick(null, {
        names: pick(
          null,
          Array.from({ length: random.below(4) }, () => pick(null, text())),
        ),
      }),
      flat: pick(null, text()),
    }));
    const file = await written(rows, { rows: 97, bytes: 1 << 20 }, nodePageCompressor);
    expect((await parquetMetadataAsync(file)).row_groups).toHaveLength(8);
    // A struct of nulls is read back without members.
    expect((await readBack(file)).map((row) => JSON.stringify(row, bigint))).toEqual(
      rows.map((row) => JSON.stringify(present(row), bigint)),
    );
  });
});

const bigint = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);

test("row groups end at either limit", async () => {
  const rows = Array.from({ length: 10 }, () => ({ flat: "x".repeat(100) }));
  const sizes = async (limits: NestedWriterLimits) =>
    (await parquetMetadataAsync(await written(rows, limits))).row_groups.map((group) =>
      Number(group.num_rows),
    );
  expect(await sizes({ rows: 4, bytes: 1 << 20 })).toEqual([4, 4, 2]);
  expect(await sizes({ rows: 100, bytes: 230 })).toEqual([2, 2, 2, 2, 2]);
});

test("a file without records has the schema", async () => {
  const metadata = await parquetMetadataAsync(await written([]));
  expect(metadata.num_rows).toBe(0n);
  expect(parquetSchema(metadata).children.map(({ element }) => element.name)).toEqual([
    "file",
    "features",
    "flat",
  ]);
});

test("maps and lists have the groups and names that readers of Spark's files know", async () => {
  const metadata = await parquetMetadataAsync(await written([{ flat: "x" }]));
  const paths = metadata.row_groups[0]?.columns.map(({ meta_data }) => meta_data?.path_in_schema.join("."));
  expect(paths).toEqual([
    "file.path",
    "file.size",
    "file.rows",
    "file.live",
    "file.tags.key_value.key",
    "file.tags.key_value.value",
    "file.inner.options.key_value.key",
    "file.inner.options.key_value.value",
    "file.inner.id",
    "features.names.list.element",
    "flat",
  ]);
});

test.each<[string, Row, RegExp]>([
  ["a number for a text", { flat: 1 }, /column flat is of type string, and holds no number 1/],
  ["a fraction", { file: { size: 0.5 } }, /column file.size is of type long/],
  ["a number that a long does not hold", { file: { size: 2n ** 63n } }, /column file.size/],
  ["a number that JSON has rounded", { file: { size: 2 ** 53 } }, /column file.size/],
  ["too large an integer", { file: { rows: 2 ** 31 } }, /column file.rows is of type integer/],
  ["a text for a boolean", { file: { live: "true" } }, /column file.live/],
  ["a text for a struct", { file: "x" }, /field file is a struct, and holds no string x/],
  ["a text for a map", { file: { tags: "x" } }, /field tags is a map/],
  ["an object for a list", { features: { names: {} } }, /field names is a list, and holds no object/],
])("%s is refused, since it would be read as something else", async (_, row, message) => {
  await expect(written([row])).rejects.toThrow(message);
});
