import { describe, expect, it } from "vitest";
import { nodePageCompressor as compressor } from "../../../../src/node/page-compressor.ts";
import { packetTable } from "../../../../src/packets/packet-table.ts";
import {
  gzip,
  metadata,
  readWithHyparquet,
  readWithParquetWasm,
  written,
} from "../../../../test/support/parquet/read-back.ts";
import { definition, rowGroup, type Value } from "../../../../test/support/parquet/table-values.ts";
import { Random } from "../../../../test/support/random.ts";
import type { RowGroup } from "../../src/columns/row-group.ts";
import type { ColumnDefinition, ColumnType } from "../../src/columns/table-schema.ts";
import { type PagedWriterOptions, pagedParquetWriter } from "../../src/encode/paged-writer.ts";
import type { ByteBuffer } from "../../src/memory/byte-buffer.ts";

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

interface OneColumn {
  readonly type: ColumnType;
  readonly values: readonly Value[];
  /** Encoding of the data pages that this case is about. */
  readonly encoding?: string;
  readonly options?: Partial<PagedWriterOptions>;
}

function repeat(count: number, value: (i: number) => Value): Value[] {
  return Array.from({ length: count }, (_, i) => value(i));
}

const random = new Random(1);
const longText = "ä".repeat(100_000);

const cases: Record<string, OneColumn> = {
  "one row": { type: "integer", values: [42], encoding: "RLE_DICTIONARY" },
  "one null": { type: "string", values: [null], encoding: "PLAIN" },
  "more nulls than fit a page": {
    type: "long",
    values: repeat(1000, () => null),
    options: { pageRows: 64 },
  },
  "a page of nulls between pages of values": {
    type: "timestamp",
    values: repeat(300, (i) => (i >= 100 && i < 200 ? null : BigInt(i) * 1_000_003n)),
    options: { pageRows: 100 },
    encoding: "DELTA_BINARY_PACKED",
  },
  "a page of nulls in a dictionary column": {
    type: "integer",
    values: repeat(300, (i) => (i >= 100 && i < 200 ? null : i % 3)),
    options: { pageRows: 100 },
    encoding: "RLE_DICTIONARY",
  },
  "a page of nulls in a column of byte arrays": {
    type: "binary",
    values: repeat(300, (i) => (i >= 100 && i < 200 ? null : new Uint8Array([i, i]))),
    options: { pageRows: 100 },
    encoding: "DELTA_LENGTH_BYTE_ARRAY",
  },
  "pages that do not begin at a byte of the bitmap": {
    type: "integer",
    values: repeat(200, (i) => (i % 5 === 0 ? null : i % 7)),
    options: { pageRows: 13 },
  },
  "integers beyond 65,535 with few values": {
    type: "integer",
    values: repeat(5000, (i) => [70_000, 2 ** 31 - 1, -(2 ** 31), 0][i % 4]!),
    encoding: "RLE_DICTIONARY",
  },
  "integers that differ by more than 31 bits each time": {
    type: "integer",
    values: repeat(1000, (i) => (i % 2 === 0 ? -(2 ** 31) + i : 2 ** 31 - 1 - i)),
  },
  "more different integers than a dictionary takes": {
    type: "integer",
    values: repeat(150_000, (i) => (i < 8192 ? i % 16 : random.uint32() | 0)),
    encoding: "DELTA_BINARY_PACKED",
  },
  "integers that look random": {
    type: "integer",
    values: repeat(10_000, () => random.uint32() | 0),
    encoding: "PLAIN",
  },
  "more different longs than a dictionary takes": {
    type: "long",
    values: repeat(150_000, (i) => (i < 8192 ? BigInt(i % 16) : BigInt(i) * 0x1_0000_0001n * 7919n)),
    encoding: "DELTA_BINARY_PACKED",
  },
  "the least and the greatest long in turn": {
    type: "long",
    values: repeat(1000, (i) => (i % 2 === 0 ? INT64_MIN + BigInt(i) : INT64_MAX - BigInt(i))),
  },
  "few longs that differ in their high halves alone": {
    type: "long",
    values: repeat(1000, (i) => BigInt(i % 5) << 32n),
    encoding: "RLE_DICTIONARY",
  },
  "time going backwards": {
    type: "timestamp",
    values: repeat(1000, (i) => 1_700_000_000_000_000n - BigInt(i) * 977n),
    encoding: "DELTA_BINARY_PACKED",
  },
  "time that jumps by years and wraps around": {
    type: "timestamp",
    values: repeat(2000, (i) =>
      BigInt.asIntN(64, INT64_MAX - 500n + BigInt(i) * (i % 97 === 0 ? 2n ** 45n : 1n)),
    ),
    encoding: "DELTA_BINARY_PACKED",
  },
  "a number that counts": {
    type: "long",
    values: repeat(5000, (i) => BigInt(i + 1)),
    encoding: "DELTA_BINARY_PACKED",
  },
  "a number that counts anew in each capture": {
    type: "long",
    values: repeat(20_000, (i) => BigInt(i % 1000)),
    encoding: "DELTA_BINARY_PACKED",
  },
  "a number that changes now and then": {
    type: "long",
    values: repeat(20_000, (i) => BigInt(Math.floor(i / 5000) % 2)),
    encoding: "RLE_DICTIONARY",
  },
  "more strings than fit a dictionary": {
    type: "string",
    values: repeat(3000, (i) => `${"x".repeat(i % 50)}${i}`),
    options: { dictionaryBytes: 10_000, pageBytes: 5000 },
    encoding: "DELTA_LENGTH_BYTE_ARRAY",
  },
  "strings longer than a page": {
    type: "string",
    values: [longText, null, `${longText}b`, "", longText],
    options: { dictionaryBytes: 100, pageBytes: 1000 },
    encoding: "DELTA_LENGTH_BYTE_ARRAY",
  },
  "strings with more than 256 entries": {
    type: "string",
    values: repeat(4000, (i) => `10.0.${i % 7}.${i % 300}`),
    encoding: "RLE_DICTIONARY",
  },
  "empty strings alone": { type: "string", values: ["", "", ""], encoding: "RLE_DICTIONARY" },
  "empty byte arrays alone": { type: "binary", values: repeat(300, () => new Uint8Array(0)) },
  "byte arrays larger than a page": {
    type: "binary",
    values: [random.bytes(5000), new Uint8Array(0), null, random.bytes(1), random.bytes(4999)],
    options: { pageBytes: 1000 },
  },
  "booleans of one value": { type: "boolean", values: repeat(1000, () => true), encoding: "PLAIN" },
};

describe.each(Object.entries(cases))("%s", (_, { type, values, encoding, options }) => {
  it("come back as they were", async () => {
    const columns = [definition("value", type)];
    const group = rowGroup(columns, [values]);
    const file = await written(pagedParquetWriter({ compressor, ...options }), columns, [group]);
    const different = (read: readonly Value[]) =>
      values.findIndex((value, i) => !sameValue(read[i] ?? null, value));
    expect(different((await readWithHyparquet(file, columns))[0]!)).toBe(-1);
    expect(different(readWithParquetWasm(file, columns)[0]!)).toBe(-1);
    if (encoding !== undefined) {
      expect(metadata(file).row_groups[0]!.columns[0]!.meta_data!.encodings).toContain(encoding);
    }
  });
});

function sameValue(a: Value, b: Value): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0;
  return a === b;
}

describe("row groups", () => {
  const columns = [definition("n", "integer"), definition("text", "string")];
  const group = (rows: number): RowGroup =>
    rowGroup(columns, [repeat(rows, (i) => i % 250), repeat(rows, (i) => `${i % 3}`)]);

  it("of any size follow each other, and empty ones are left out", async () => {
    const groups = [group(0), group(3), group(1), group(0), group(500)];
    const file = await written(pagedParquetWriter({ compressor }), columns, groups);
    const footer = metadata(file);
    expect(footer.row_groups.map((rowGroup) => Number(rowGroup.num_rows))).toEqual([3, 1, 500]);
    expect(footer.row_groups.map((rowGroup) => rowGroup.ordinal)).toEqual([0, 1, 2]);
    expect(footer.row_groups.map((rowGroup) => rowGroup.file_offset)).toEqual(
      footer.row_groups.map(({ columns: [first] }) => {
        const { dictionary_page_offset, data_page_offset } = first!.meta_data!;
        return dictionary_page_offset ?? data_page_offset;
      }),
    );
    expect(Number(footer.num_rows)).toBe(504);
    const [numbers] = await readWithHyparquet(file, columns);
    expect(numbers!.slice(0, 6)).toEqual([0, 1, 2, 0, 0, 1]);
  });

  it("leave the writer before the next one comes: memory holds one", async () => {
    const payload = [definition("bytes", "binary")];
    const sizes: number[] = [];
    let size = 0;
    const writer = pagedParquetWriter({ compressor: null })(payload, async (chunk) => {
      size += chunk.length;
    });
    for (let i = 0; i < 3; i++) {
      await writer.write(rowGroup(payload, [repeat(40, () => random.bytes(50_000))]));
      sizes.push(size);
    }
    // 2 MB a group; what is less than a chunk of 256 KiB may wait.
    sizes.forEach((sofar, i) => {
      expect((i + 1) * 2_000_000 - sofar).toBeLessThan(256 * 1024);
    });
  });

  it("are taken when the promise resolves: their arrays may be used again", async () => {
    const columns = [definition("n", "integer")];
    const group = rowGroup(columns, [[1, 2, 3]]);
    const chunks: Uint8Array[] = [];
    const writer = pagedParquetWriter({ compressor })(columns, async (chunk) => void chunks.push(chunk));
    await writer.write(group);
    const [column] = group.columns;
    if (column?.kind === "integer") column.values.fill(9);
    await writer.finish();
    expect(await readWithHyparquet(Buffer.concat(chunks), columns)).toEqual([[1, 2, 3]]);
  });

  it("may be written for two files in turn by one factory, while both wait for their sinks", async () => {
    const factory = pagedParquetWriter({ compressor: null, pageRows: 8 });
    const payload = [definition("bytes", "binary"), definition("n", "integer")];
    const rows = (fill: number) =>
      rowGroup(payload, [
        repeat(20, () => new Uint8Array(40_000).fill(fill)),
        repeat(20, (i) => fill * 100 + i),
      ]);
    const slow = async (fill: number) => {
      const chunks: Uint8Array[] = [];
      const writer = factory(payload, async (chunk) => {
        await new Promise((resolve) => setImmediate(resolve));
        chunks.push(chunk);
      });
      for (let i = 0; i < 2; i++) await writer.write(rows(fill));
      await writer.finish();
      return Buffer.concat(chunks);
    };
    const together = await Promise.all([slow(1), slow(2)]);
    expect(together[0]!.equals(await slow(1))).toBe(true);
    expect(together[1]!.equals(await slow(2))).toBe(true);
  });
});

describe("a file", () => {
  const columns = [definition("n", "integer")];
  const open = () => pagedParquetWriter({ compressor })(columns, async () => {});

  it("without a row group is refused", async () => {
    await expect(open().finish()).rejects.toThrow("at least one row group");
  });

  it("refuses a row group of other columns, types or lengths, by name", async () => {
    const one = (type: ColumnType, values: Value[]) => rowGroup([definition("n", type)], [values]);
    await expect(open().write({ rows: 1, columns: [] })).rejects.toThrow("0 columns, and the file 1");
    await expect(open().write(one("long", [1n]))).rejects.toThrow(
      "column n is of type integer, and its values long",
    );
    await expect(open().write({ ...one("integer", [1]), rows: 2 })).rejects.toThrow("column n has 1 rows");
    const withoutBitmap = { kind: "integer", values: new Int32Array(9), nullCount: 1, bitmap: null } as const;
    await expect(open().write({ rows: 9, columns: [withoutBitmap] })).rejects.toThrow("column n has 1 nulls");
  });

  it("refuses a column of a type that files do not have", () => {
    const dates = [definition("date", "date")];
    expect(() => pagedParquetWriter({ compressor })(dates, async () => {})).toThrow("date");
  });

  it("hands on the sink's error, and abort does not throw after it", async () => {
    const writer = pagedParquetWriter({ compressor: null })([definition("b", "binary")], async () => {
      throw new Error("disk full");
    });
    const large = rowGroup([definition("b", "binary")], [[random.bytes(600_000)]]);
    await expect(writer.write(large)).rejects.toThrow("disk full");
    await writer.abort();
  });
});

describe("pages", () => {
  const dataPages = async (type: ColumnType, values: Value[], options: Partial<PagedWriterOptions>) => {
    const columns = [definition("v", type)];
    const file = await written(pagedParquetWriter({ compressor, ...options }), columns, [
      rowGroup(columns, [values]),
    ]);
    const stats = metadata(file).row_groups[0]!.columns[0]!.meta_data!.encoding_stats!;
    return stats.find(({ page_type }) => page_type === "DATA_PAGE")?.count;
  };

  it("of byte arrays end before they hold more bytes than the limit", async () => {
    const bytes = repeat(100, () => random.bytes(100));
    expect(await dataPages("binary", bytes, { pageBytes: 1000 })).toBe(10);
    expect(await dataPages("binary", bytes, { pageBytes: 1099 })).toBe(10);
    expect(await dataPages("binary", bytes, { pageBytes: 10_000 })).toBe(1);
  });

  it("of strings without a dictionary do so too", async () => {
    const texts = repeat(100, (i) => String(i).padStart(100));
    expect(await dataPages("string", texts, { pageBytes: 1000, dictionaryBytes: 1 })).toBe(10);
    expect(await dataPages("string", texts, { pageBytes: 10_000, dictionaryBytes: 1 })).toBe(1);
  });

  it("of any column end at the limit of rows", async () => {
    const options = { pageRows: 30 };
    expect(
      await dataPages(
        "integer",
        repeat(100, (i) => i),
        options,
      ),
    ).toBe(4);
    expect(
      await dataPages(
        "boolean",
        repeat(90, () => null),
        options,
      ),
    ).toBe(3);
  });
});

describe("compression", () => {
  const columns: ColumnDefinition[] = [definition("b", "binary")];
  const codec = async (values: Value[]) => {
    const options = { compressor: gzip, pageBytes: 1 << 16 };
    const file = await written(pagedParquetWriter(options), columns, [rowGroup(columns, [values])]);
    return metadata(file).row_groups[0]!.columns[0]!.meta_data!.codec;
  };

  it("is left out where it does not pay: bytes that look random, as encrypted payloads do", async () => {
    expect(await codec(repeat(500, () => random.bytes(1400)))).toBe("UNCOMPRESSED");
    expect(await codec(repeat(20, () => random.bytes(1400)))).toBe("UNCOMPRESSED");
  });

  it("is kept where the later pages of a chunk need it", async () => {
    const mixed = repeat(500, (i) => (i < 200 ? random.bytes(1400) : new Uint8Array(1400)));
    expect(await codec(mixed)).toBe("GZIP");
  });

  it("is called once for a page, and never for a column of nulls or of one value", async () => {
    let calls = 0;
    const counting = {
      ...gzip,
      compress: (page: Uint8Array, out: ByteBuffer) => {
        calls++;
        gzip.compress(page, out);
      },
    };
    const table = packetTable.columns.filter(({ type }) => type !== "date");
    const values = table.map(({ type }) =>
      repeat(10_000, () => (type === "integer" ? 7 : type === "string" ? "same" : null)),
    );
    await written(pagedParquetWriter({ compressor: counting }), table, [rowGroup(table, values)]);
    expect(calls).toBe(0);
    const one = [definition("n", "integer")];
    const three = rowGroup(one, [repeat(30_000, (i) => (i * i) % 50)]);
    await written(pagedParquetWriter({ compressor: counting }), one, [three]);
    // The data page and the dictionary page.
    expect(calls).toBe(2);
  });
});

describe("the schema", () => {
  it("is Spark's: optional columns, strings with UTF8, timestamps adjusted to UTC in microseconds", async () => {
    const columns = (["integer", "long", "timestamp", "boolean", "string", "binary"] as const).map((type) =>
      definition(type, type),
    );
    const group = rowGroup(
      columns,
      columns.map(() => [null]),
    );
    const file = await written(pagedParquetWriter({ compressor }), columns, [group]);
    const [root, ...fields] = metadata(file).schema;
    expect(root).toMatchObject({ num_children: 6 });
    expect(
      fields.map((field) => [field.name, field.type, field.converted_type, field.logical_type?.type]),
    ).toEqual([
      ["integer", "INT32", undefined, undefined],
      ["long", "INT64", undefined, undefined],
      ["timestamp", "INT64", "TIMESTAMP_MICROS", "TIMESTAMP"],
      ["boolean", "BOOLEAN", undefined, undefined],
      ["string", "BYTE_ARRAY", "UTF8", "STRING"],
      ["binary", "BYTE_ARRAY", undefined, undefined],
    ]);
    expect(fields.every((field) => field.repetition_type === "OPTIONAL")).toBe(true);
    expect(fields[2]!.logical_type).toMatchObject({ isAdjustedToUTC: true, unit: "MICROS" });
    // Field 7 of the footer, its last: TYPE_ORDER for each of six columns, without which bounds mean nothing.
    const footer = Buffer.from(file.subarray(0, -8)).toString("hex");
    expect(footer.endsWith(`196c${"1c0000".repeat(6)}00`)).toBe(true);
  });
});
