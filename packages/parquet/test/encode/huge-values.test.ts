import { expect, test } from "vitest";
import { nodePageCompressor } from "../../../../src/node/page-compressor.ts";
import {
  metadata,
  readWithHyparquet,
  readWithParquetWasm,
  written,
} from "../../../../test/support/parquet/read-back.ts";
import { definition } from "../../../../test/support/parquet/table-values.ts";
import { Random } from "../../../../test/support/random.ts";
import type { Column, RowGroup } from "../../src/columns/row-group.ts";
import { CompressionCodec } from "../../src/encode/format.ts";
import type { PageCompressor } from "../../src/encode/page-compressor.ts";
import { pagedParquetWriter } from "../../src/encode/paged-writer.ts";

const MiB = 1 << 20;
const columns = [definition("frame", "binary", false)];

/** Rows of so many bytes each, one after another. */
function group(bytes: Uint8Array, lengths: readonly number[]): RowGroup {
  const offsets = new Int32Array(lengths.length + 1);
  lengths.forEach((length, i) => {
    offsets[i + 1] = (offsets[i] ?? 0) + length;
  });
  const column: Column = { kind: "binary", bytes, offsets, nullCount: 0, bitmap: null };
  return { rows: lengths.length, columns: [column] };
}

const lengths = [100, 9 * MiB + 1, 7, 0, 5 * MiB, 2];
const total = lengths.reduce((sum, length) => sum + length, 0);

function compressible(): Uint8Array {
  return new Uint8Array(total).map((_, i) => (i % 1000 < 900 ? 1 : i >> 3));
}

function noise(): Uint8Array {
  return new Random(7).bytes(total);
}

for (const [name, make, codec] of [
  ["that compress", compressible, "ZSTD"],
  ["that do not", noise, "UNCOMPRESSED"],
] as const) {
  test(`values of several MiB ${name}, among small ones, are read by others as they were`, async () => {
    const bytes = make();
    const file = await written(pagedParquetWriter({ compressor: nodePageCompressor }), columns, [
      group(bytes, lengths),
    ]);
    expect(metadata(file).row_groups[0]?.columns[0]?.meta_data?.codec).toBe(codec);
    for (const read of [await readWithHyparquet(file, columns), readWithParquetWasm(file, columns)]) {
      let at = 0;
      for (const [i, length] of lengths.entries()) {
        const value = read[0]?.[i] as Uint8Array;
        expect(Buffer.compare(value, bytes.subarray(at, at + length)), `row ${i}`).toBe(0);
        at += length;
      }
    }
  });
}

test("a value of 40 MiB is compressed where it lies, in pieces, and handed on in pieces", async () => {
  const bytes = new Uint8Array(40 * MiB);
  let pieces = 0;
  let room = 0;
  const counting: PageCompressor = {
    codec: CompressionCodec.ZSTD,
    compress(page, out) {
      expect(page.length).toBeLessThanOrEqual(4 * MiB);
      if (page.length > 1000) expect(page.buffer).toBe(bytes.buffer);
      pieces++;
      out.append(page.subarray(0, page.length >> 1));
      room = out.bytes.length;
    },
  };
  let waiting = 0;
  let most = 0;
  const writer = pagedParquetWriter({ compressor: counting })(columns, async (chunk) => {
    waiting += chunk.length;
    most = Math.max(most, chunk.length);
  });
  await writer.write(group(bytes, [40 * MiB]));
  // A sixteenth of it to see whether it shrinks, then its head and ten pieces.
  expect(pieces).toBe(1 + 1 + 10);
  expect(room).toBeLessThanOrEqual(40 * MiB);
  expect(most).toBeLessThanOrEqual(256 * 1024);
  expect(waiting).toBeGreaterThan(19 * MiB);
});
