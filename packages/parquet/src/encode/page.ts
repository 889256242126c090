import type { ByteBuffer } from "../memory/byte-buffer.ts";
import { Encoding, PageType } from "./format.ts";
import { CompactWriter } from "./thrift-compact.ts";

/** The header of a version 1 data page (parquet.thrift, "PageHeader"); sizes are those of the body behind it. */
export function writeDataPageHeader(
  rows: number,
  encoding: Encoding,
  uncompressedSize: number,
  compressedSize: number,
  out: ByteBuffer,
): void {
  const thrift = new CompactWriter(out);
  thrift.struct(() => {
    thrift.i32(1, PageType.DATA_PAGE);
    thrift.i32(2, uncompressedSize);
    thrift.i32(3, compressedSize);
    thrift.structField(5, () => {
      thrift.i32(1, rows);
      thrift.i32(2, encoding);
      thrift.i32(3, Encoding.RLE);
      thrift.i32(4, Encoding.RLE);
    });
  });
}

/** Appends the header of a dictionary page (parquet.thrift, "DictionaryPageHeader"). Sizes are in bytes. */
export function writeDictionaryPageHeader(
  entries: number,
  uncompressedSize: number,
  compressedSize: number,
  out: ByteBuffer,
): void {
  const thrift = new CompactWriter(out);
  thrift.struct(() => {
    thrift.i32(1, PageType.DICTIONARY_PAGE);
    thrift.i32(2, uncompressedSize);
    thrift.i32(3, compressedSize);
    thrift.structField(7, () => {
      thrift.i32(1, entries);
      thrift.i32(2, Encoding.PLAIN);
    });
  });
}
