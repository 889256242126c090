import type { Column, ColumnDefinition, RowGroup, Validity } from "@deltacap/parquet";
import {
  Binary,
  Bool,
  type Data,
  type DataType,
  Dictionary,
  Field,
  Int32,
  Int64,
  makeData,
  makeVector,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  TimestampMicrosecond,
  Utf8,
} from "apache-arrow";

/** A row group as an Arrow IPC stream with one record batch. */
export function arrowIpcStream(columns: readonly ColumnDefinition[], group: RowGroup): Uint8Array {
  const children = group.columns.map((column) =>
    arrowData(column.nullCount === group.rows ? withOwnArrays(column) : column, group.rows),
  );
  const fields = columns.map((column, i) => new Field(column.name, children[i]!.type, true));
  const data = makeData({ type: new Struct(fields), length: group.rows, nullCount: 0, children });
  const batch = new RecordBatch(new Schema(fields), data);
  const writer = new RecordBatchStreamWriter();
  writer.write(batch);
  writer.finish();
  return writer.toUint8Array(true);
}

function arrowData(column: Column, length: number): Data<DataType> {
  switch (column.kind) {
    case "integer":
      return makeData({ type: new Int32(), length, data: column.values, ...nulls(column) });
    case "long":
      return makeData({ type: new Int64(), length, data: column.values, ...nulls(column) });
    case "timestamp":
      return makeData({
        type: new TimestampMicrosecond("UTC"),
        length,
        data: column.values,
        ...nulls(column),
      });
    case "boolean":
      return makeData({ type: new Bool(), length, data: packedBits(column.values), ...nulls(column) });
    case "string":
      return makeData({
        type: new Dictionary(new Utf8(), new Int32()),
        length,
        data: nonNegative(column.codes, column.nullCount),
        dictionary: makeVector(utf8Data(column.dictionary)),
        ...nulls(column),
      });
    case "binary":
      return makeData({
        type: new Binary(),
        length,
        data: column.bytes,
        valueOffsets: column.offsets,
        ...nulls(column),
      });
  }
}

/** Columns without a value may share their arrays, and Arrow's stream writer takes arrays that overlap for one. */
function withOwnArrays(column: Column): Column {
  const bitmap = column.bitmap?.slice() ?? null;
  if (column.kind === "string") return { ...column, bitmap };
  if (column.kind === "binary") return { ...column, bitmap, offsets: column.offsets.slice() };
  return { ...column, bitmap, values: column.values.slice() } as Column;
}

function nulls(validity: Validity): { nullCount: number; nullBitmap: Uint8Array | null } {
  return { nullCount: validity.nullCount, nullBitmap: validity.bitmap };
}

function packedBits(values: Uint8Array): Uint8Array {
  const bits = new Uint8Array((values.length + 7) >> 3);
  for (let i = 0; i < values.length; i++) if (values[i] === 1) bits[i >> 3]! |= 1 << (i & 7);
  return bits;
}

/** Arrow wants codes within the dictionary even where the row is null. */
function nonNegative(codes: Int32Array, nullCount: number): Int32Array {
  return nullCount === 0 ? codes : codes.map((code) => Math.max(code, 0));
}

const utf8 = new TextEncoder();

function utf8Data(strings: readonly string[]): Data<Utf8> {
  const encoded = strings.map((text) => utf8.encode(text));
  const valueOffsets = new Int32Array(encoded.length + 1);
  for (let i = 0; i < encoded.length; i++) valueOffsets[i + 1] = valueOffsets[i]! + encoded[i]!.length;
  const data = new Uint8Array(valueOffsets[encoded.length]!);
  for (let i = 0; i < encoded.length; i++) data.set(encoded[i]!, valueOffsets[i]);
  return makeData({ type: new Utf8(), length: encoded.length, nullCount: 0, valueOffsets, data });
}
