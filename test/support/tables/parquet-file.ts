import { ByteBuffer, CompactWriter } from "@deltacap/parquet";

/** What a file of one column states, whatever is true. The defaults are three integers in one page. */
export interface StatedFile {
  readonly rows: number;
  readonly groupRows: number;
  readonly rootChildren: number;
  readonly childrenOfColumn: number | null;
  /** 0 required, 1 optional, 2 repeated. */
  readonly repetition: number;
  /** Of parquet.thrift: 1 is INT32. */
  readonly physical: number;
  /** Of parquet.thrift: 9 is TIMESTAMP_MILLIS. */
  readonly converted: number | null;
  readonly columns: number;
  readonly values: number;
  readonly uncompressedBytes: number;
  readonly compressedBytes: number | null;
  readonly dataPageOffset: number;
  readonly dictionaryPageOffset: number | null;
  readonly codec: number;
  readonly path: readonly string[];
  readonly geo: string | null;
  readonly pageValues: number;
  readonly pageBytes: number | null;
  readonly pageUncompressedBytes: number | null;
  readonly encoding: number;
  readonly page: Uint8Array;
  readonly footerLength: number | null;
}

const honest: StatedFile = {
  rows: 3,
  groupRows: 3,
  rootChildren: 1,
  childrenOfColumn: null,
  repetition: 0,
  physical: 1,
  converted: null,
  columns: 1,
  values: 3,
  uncompressedBytes: 100,
  compressedBytes: null,
  dataPageOffset: 4,
  dictionaryPageOffset: null,
  codec: 0,
  path: ["n"],
  geo: null,
  pageValues: 3,
  pageBytes: null,
  pageUncompressedBytes: null,
  encoding: 0,
  page: Uint8Array.of(1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0),
  footerLength: null,
};

/** A Parquet file that states `stated`. */
export function parquetStating(stated: Partial<StatedFile> = {}): Uint8Array {
  const file = { ...honest, ...stated };
  const out = new ByteBuffer(1024);
  out.append(new TextEncoder().encode("PAR1"));
  writePage(file, out);
  const chunkBytes = out.length - 4;
  const footerStart = out.length;
  writeFooter(file, file.compressedBytes ?? chunkBytes, out);
  const trailer = new Uint8Array(8);
  new DataView(trailer.buffer).setUint32(0, file.footerLength ?? out.length - footerStart, true);
  trailer.set(new TextEncoder().encode("PAR1"), 4);
  out.append(trailer);
  return out.written().slice();
}

function writePage(file: StatedFile, out: ByteBuffer): void {
  const thrift = new CompactWriter(out);
  thrift.struct(() => {
    thrift.i32(1, 0);
    thrift.i32(2, file.pageUncompressedBytes ?? file.page.length);
    thrift.i32(3, file.pageBytes ?? file.page.length);
    thrift.structField(5, () => {
      thrift.i32(1, file.pageValues);
      thrift.i32(2, file.encoding);
      thrift.i32(3, 3);
      thrift.i32(4, 3);
    });
  });
  out.append(file.page);
}

function writeFooter(file: StatedFile, compressedBytes: number, out: ByteBuffer): void {
  const thrift = new CompactWriter(out);
  thrift.struct(() => {
    thrift.i32(1, 1);
    thrift.structList(2, ["schema", "n"], (name) => {
      if (name === "schema") {
        thrift.string(4, name);
        thrift.i32(5, file.rootChildren);
      } else {
        thrift.i32(1, file.physical);
        thrift.i32(3, file.repetition);
        thrift.string(4, name);
        if (file.childrenOfColumn !== null) thrift.i32(5, file.childrenOfColumn);
        if (file.converted !== null) thrift.i32(6, file.converted);
      }
    });
    thrift.i64(3, file.rows);
    thrift.structList(4, [0], () => {
      thrift.structList(1, new Array(file.columns).fill(0), () => writeChunk(thrift, file, compressedBytes));
      thrift.i64(2, file.uncompressedBytes);
      thrift.i64(3, file.groupRows);
    });
    if (file.geo !== null) {
      thrift.structList(5, [file.geo], (value) => {
        thrift.string(1, "geo");
        thrift.string(2, value);
      });
    }
  });
}

function writeChunk(thrift: CompactWriter, file: StatedFile, compressedBytes: number): void {
  thrift.i64(2, 0);
  thrift.structField(3, () => {
    thrift.i32(1, file.physical);
    thrift.i32List(2, [file.encoding]);
    thrift.stringList(3, file.path);
    thrift.i32(4, file.codec);
    thrift.i64(5, file.values);
    thrift.i64(6, file.uncompressedBytes);
    thrift.i64(7, compressedBytes);
    thrift.i64(9, file.dataPageOffset);
    if (file.dictionaryPageOffset !== null) thrift.i64(11, file.dictionaryPageOffset);
  });
}
