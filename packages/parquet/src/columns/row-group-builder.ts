import type { Column, RowGroup, Validity } from "./row-group.ts";
import type { ColumnDefinition, ColumnType } from "./table-schema.ts";

/** Rows as they were read from a file: null stands for a column without any value, which then takes no memory. */
export interface SparseRowGroup {
  readonly rows: number;
  readonly columns: readonly (Column | null)[];
}

/** Of a text in a dictionary besides its UTF-16 units: head, place in map and list. */
const ENTRY_BYTES = 64;

/**
 * Puts row groups together from spans of rows of others. What is appended is copied: the group that it came from is free
 * afterwards. Memory: as the rows of {@link RowGroup} take, kept from one group to the next.
 */
export class RowGroupBuilder {
  rows = 0;
  readonly #columns: readonly ColumnCollector[];
  readonly #strings: readonly StringCollector[];
  readonly #binaries: readonly BinaryCollector[];

  /** `columns` as the file has them: the table's without the partition column. */
  constructor(columns: readonly ColumnDefinition[]) {
    this.#columns = columns.map(({ type }) => collectorOf(type));
    this.#strings = this.#columns.filter((column) => column instanceof StringCollector);
    this.#binaries = this.#columns.filter((column) => column instanceof BinaryCollector);
  }

  /** Bytes of what makes rows large: binary values, and texts, each counted once. */
  get bytes(): number {
    const texts = this.#strings.reduce((sum, { bytes }) => sum + bytes, 0);
    return this.#binaries.reduce((sum, { bytes }) => sum + bytes, texts);
  }

  /** Rows `from` to `to` (exclusive) of a group with the same columns. */
  append(group: SparseRowGroup, from: number, to: number): void {
    if (from === to) return;
    const rows = this.rows + to - from;
    for (const [i, collector] of this.#columns.entries()) {
      const column = group.columns[i] ?? null;
      if (column === null) collector.appendNulls(this.rows, rows);
      else collector.append(this.rows, column, from, to);
    }
    this.rows = rows;
  }

  /** The rows; their arrays are valid until the next `append` or `clear`. */
  take(): RowGroup {
    return { rows: this.rows, columns: this.#columns.map((column) => column.take(this.rows)) };
  }

  clear(): void {
    this.rows = 0;
    for (const column of this.#columns) column.clear();
  }
}

interface ColumnCollector {
  append(row: number, column: Column, from: number, to: number): void;
  appendNulls(row: number, rows: number): void;
  take(rows: number): Column;
  clear(): void;
}

function collectorOf(type: ColumnType): ColumnCollector {
  switch (type) {
    case "integer":
      return new NumberCollector(
        (length) => new Int32Array(length),
        (values, validity) => ({ kind: "integer", values, ...validity }),
      );
    case "long":
    case "timestamp":
      return new NumberCollector(
        (length) => new BigInt64Array(length),
        (values, validity) => ({ kind: type, values, ...validity }),
      );
    case "boolean":
      return new NumberCollector(
        (length) => new Uint8Array(length),
        (values, validity) => ({ kind: "boolean", values, ...validity }),
      );
    case "string":
      return new StringCollector();
    case "binary":
      return new BinaryCollector();
    case "date":
      throw new Error("a column of type date is the partition's, and in no file");
  }
}

/** Which rows have a value: nothing is kept until the first null, then a byte a row. */
class Presence {
  #present = new Uint8Array(0);
  #nulls = 0;

  append(row: number, { nullCount, bitmap }: Validity, from: number, to: number): void {
    const end = row + to - from;
    if (nullCount === 0 || bitmap === null) return this.#fill(row, end, 1);
    this.#begin(row, end);
    for (let i = from; i < to; i++) {
      const present = (bitmap[i >> 3]! >> (i & 7)) & 1;
      this.#present[row + i - from] = present;
      this.#nulls += 1 - present;
    }
  }

  appendNulls(row: number, rows: number): void {
    this.#begin(row, rows);
    this.#fill(row, rows, 0);
    this.#nulls += rows - row;
  }

  take(rows: number): Validity {
    if (this.#nulls === 0) return { nullCount: 0, bitmap: null };
    const bitmap = new Uint8Array((rows + 7) >> 3);
    for (let row = 0; row < rows; row++) bitmap[row >> 3]! |= this.#present[row]! << (row & 7);
    return { nullCount: this.#nulls, bitmap };
  }

  clear(): void {
    this.#nulls = 0;
  }

  /** All rows before the first null have a value. */
  #begin(row: number, rows: number): void {
    const first = this.#nulls === 0;
    this.#present = grown(this.#present, rows, (length) => new Uint8Array(length));
    if (first) this.#present.fill(1, 0, row);
  }

  #fill(row: number, rows: number, present: 0 | 1): void {
    if (present === 1 && this.#nulls === 0) return;
    this.#present = grown(this.#present, rows, (length) => new Uint8Array(length));
    this.#present.fill(present, row, rows);
  }
}

type Numbers = Int32Array | BigInt64Array | Uint8Array;

class NumberCollector<Values extends Numbers> implements ColumnCollector {
  readonly #create: (length: number) => Values;
  readonly #column: (values: Values, validity: Validity) => Column;
  readonly #presence = new Presence();
  #values: Values;

  constructor(create: (length: number) => Values, column: (values: Values, validity: Validity) => Column) {
    this.#create = create;
    this.#column = column;
    this.#values = create(0);
  }

  append(row: number, column: Column, from: number, to: number): void {
    this.#values = grown(this.#values, row + to - from, this.#create);
    const source = (column as { values: Numbers }).values.subarray(from, to);
    // The same kind of array on both sides: the compiler cannot see that, the group's columns are those of the builder.
    (this.#values as Int32Array).set(source as Int32Array, row);
    this.#presence.append(row, column, from, to);
  }

  appendNulls(row: number, rows: number): void {
    this.#values = grown(this.#values, rows, this.#create);
    this.#presence.appendNulls(row, rows);
  }

  take(rows: number): Column {
    return this.#column(this.#values.subarray(0, rows) as Values, this.#presence.take(rows));
  }

  clear(): void {
    this.#presence.clear();
  }
}

/** No code yet. */
const NONE = -1;

class StringCollector implements ColumnCollector {
  /** Of the dictionary's texts, roughly. */
  bytes = 0;
  #codes = new Int32Array(0);
  #nulls = 0;
  #dictionary: string[] = [];
  #known = new Map<string, number>();
  /** For each column that rows came from: its codes to ours, so that a text is looked up once a column. */
  #translations = new Map<Column, Int32Array>();

  append(row: number, column: Column, from: number, to: number): void {
    const { codes, dictionary } = column as Extract<Column, { kind: "string" }>;
    this.#codes = grown(this.#codes, row + to - from, (length) => new Int32Array(length));
    const translation = this.#translationOf(column, dictionary.length);
    for (let i = from; i < to; i++) {
      const code = codes[i]!;
      if (code < 0) {
        this.#codes[row + i - from] = NONE;
        this.#nulls++;
        continue;
      }
      if (translation[code] === NONE) translation[code] = this.#code(dictionary[code]!);
      this.#codes[row + i - from] = translation[code]!;
    }
  }

  appendNulls(row: number, rows: number): void {
    this.#codes = grown(this.#codes, rows, (length) => new Int32Array(length));
    this.#codes.fill(NONE, row, rows);
    this.#nulls += rows - row;
  }

  take(rows: number): Column {
    const codes = this.#codes.subarray(0, rows);
    const dictionary = this.#dictionary;
    if (this.#nulls === 0) return { kind: "string", codes, dictionary, nullCount: 0, bitmap: null };
    const bitmap = new Uint8Array((rows + 7) >> 3);
    for (let row = 0; row < rows; row++) if (codes[row] !== NONE) bitmap[row >> 3]! |= 1 << (row & 7);
    return { kind: "string", codes, dictionary, nullCount: this.#nulls, bitmap };
  }

  clear(): void {
    this.bytes = 0;
    this.#nulls = 0;
    this.#dictionary = [];
    this.#known = new Map();
    this.#translations = new Map();
  }

  #translationOf(column: Column, entries: number): Int32Array {
    let translation = this.#translations.get(column);
    if (translation === undefined) {
      translation = new Int32Array(entries).fill(NONE);
      this.#translations.set(column, translation);
    }
    return translation;
  }

  #code(text: string): number {
    let code = this.#known.get(text);
    if (code === undefined) {
      code = this.#dictionary.push(text) - 1;
      this.#known.set(text, code);
      this.bytes += ENTRY_BYTES + 2 * text.length;
    }
    return code;
  }
}

class BinaryCollector implements ColumnCollector {
  readonly #presence = new Presence();
  #bytes = new Uint8Array(0);
  #offsets = new Int32Array(1);
  #rows = 0;

  get bytes(): number {
    return this.#offsets[this.#rows] ?? 0;
  }

  append(row: number, column: Column, from: number, to: number): void {
    const { bytes, offsets } = column as Extract<Column, { kind: "binary" }>;
    const end = row + to - from;
    const start = offsets[from]!;
    const at = this.#offsets[row]!;
    const source = bytes.subarray(start, offsets[to]);
    this.#bytes = grown(this.#bytes, at + source.length, (length) => new Uint8Array(length));
    this.#bytes.set(source, at);
    this.#offsets = grown(this.#offsets, end + 1, (length) => new Int32Array(length));
    for (let i = from; i < to; i++) this.#offsets[row + i - from + 1] = offsets[i + 1]! - start + at;
    this.#presence.append(row, column, from, to);
    this.#rows = end;
  }

  appendNulls(row: number, rows: number): void {
    this.#offsets = grown(this.#offsets, rows + 1, (length) => new Int32Array(length));
    this.#offsets.fill(this.#offsets[row]!, row + 1, rows + 1);
    this.#presence.appendNulls(row, rows);
    this.#rows = rows;
  }

  take(rows: number): Column {
    const offsets = this.#offsets.subarray(0, rows + 1);
    const bytes = this.#bytes.subarray(0, offsets[rows]);
    return { kind: "binary", bytes, offsets, ...this.#presence.take(rows) };
  }

  clear(): void {
    this.#rows = 0;
    this.#presence.clear();
  }
}

/** `values`, or a longer copy where it has less than `length`; doubling keeps the copies' cost linear. */
function grown<Values extends Numbers>(
  values: Values,
  length: number,
  create: (length: number) => Values,
): Values {
  if (length <= values.length) return values;
  const longer = create(Math.max(length, 2 * values.length));
  (longer as Int32Array).set(values as Int32Array);
  return longer;
}
