import type { ColumnPage } from "./column-pages.ts";
import { ParquetDamage } from "./damaged-parquet.ts";
import { columnsOf, type ParquetField } from "./schema.ts";

/** All entries of one column of a row group. */
export interface ColumnEntries {
  readonly field: ParquetField;
  readonly pages: readonly ColumnPage[];
}

/** Puts the columns' entries together again (Dremel): nulls are left out of structs and kept in maps and lists. */
export class RecordAssembler {
  readonly #readers: readonly { readonly name: string; readonly read: () => unknown }[];
  readonly #cursors: readonly Cursor[];

  /** `fields`: top-level ones. Columns of theirs that are not among `columns` are left out. */
  constructor(fields: readonly ParquetField[], columns: readonly ColumnEntries[]) {
    const cursors = new Map(columns.map((column) => [column.field.column, new Cursor(column)]));
    this.#cursors = [...cursors.values()];
    this.#readers = fields.flatMap((field) => {
      const node = nodeOf(field, cursors);
      return node === null ? [] : [{ name: field.name, read: () => node.read() }];
    });
  }

  /** The next row. */
  next(): Record<string, unknown> {
    for (const cursor of this.#cursors) cursor.requireRowStart();
    const row: Record<string, unknown> = {};
    for (const { name, read } of this.#readers) {
      const value = read();
      if (value !== null) row[name] = value;
    }
    return row;
  }

  /** To be called after the last row. */
  finish(): void {
    for (const cursor of this.#cursors) cursor.requireEnd();
  }
}

/** Goes through a column's entries. */
class Cursor {
  readonly #field: ParquetField;
  readonly #pages: readonly ColumnPage[];
  #page = 0;
  #entry = 0;
  #value = 0;

  constructor({ field, pages }: ColumnEntries) {
    this.#field = field;
    this.#pages = pages.filter(({ count }) => count > 0);
  }

  /** Of the next entry; -1 at the end. */
  get definition(): number {
    const page = this.#pages[this.#page];
    if (page === undefined) return -1;
    return page.definitions === null ? this.#field.maxDefinition : page.definitions[this.#entry]!;
  }

  /** Of the next entry; 0 at the end, where no list goes on. */
  get repetition(): number {
    const page = this.#pages[this.#page];
    return page?.repetitions?.[this.#entry] ?? 0;
  }

  /** Takes the next entry: its value, or null where it has none. */
  take(): unknown {
    const page = this.#pages[this.#page];
    if (page === undefined) throw this.damage("has fewer values than its neighbours");
    const isThere = this.definition === this.#field.maxDefinition;
    const value = isThere ? page.values[this.#value++] : null;
    this.#entry++;
    if (this.#entry === page.count) {
      this.#page++;
      this.#entry = 0;
      this.#value = 0;
    }
    return value;
  }

  requireRowStart(): void {
    if (this.definition < 0) throw this.damage("has fewer rows than its row group");
    if (this.repetition !== 0) throw this.damage("goes on with a list where a row begins");
  }

  requireEnd(): void {
    if (this.definition >= 0) throw this.damage("has more values than its row group has rows");
  }

  damage(problem: string): ParquetDamage {
    return new ParquetDamage(`column ${this.#field.path.join(".")} ${problem}`);
  }
}

/** A field of the schema, with the columns below it. */
interface Node {
  readonly field: ParquetField;
  readonly cursors: readonly Cursor[];
  /** Takes one value from each column below. */
  read(): unknown;
}

/** Null where no column below the field is read. */
function nodeOf(field: ParquetField, cursors: ReadonlyMap<number, Cursor>): Node | null {
  const own = columnsOf(field).flatMap(({ column }) => cursors.get(column) ?? []);
  if (own.length === 0) return null;
  if (field.repetition === "REPEATED") return listNode(field, own, itemNode(field, cursors));
  const repeated = field.children[0];
  if (repeated?.repetition === "REPEATED" && field.children.length === 1) {
    if (isMap(field, repeated)) return mapNode(field, own, repeated, cursors);
    if (isList(field))
      return optional(field, own, listNode(repeated, own, elementNode(field, repeated, cursors)));
  }
  return optional(field, own, itemNode(field, cursors));
}

function isMap({ converted, logical }: ParquetField, { children }: ParquetField): boolean {
  const isMarked = converted === "MAP" || converted === "MAP_KEY_VALUE" || logical?.type === "MAP";
  return isMarked && children.length === 2;
}

function isList({ converted, logical }: ParquetField): boolean {
  return converted === "LIST" || logical?.type === "LIST";
}

/** What the repeated field of a list holds: its only child, or itself (LogicalTypes.md, "Backward-compatibility rules"). */
function elementNode(
  list: ParquetField,
  repeated: ParquetField,
  cursors: ReadonlyMap<number, Cursor>,
): Node | null {
  const [only] = repeated.children;
  const isItself =
    repeated.children.length !== 1 || repeated.name === "array" || repeated.name === `${list.name}_tuple`;
  return isItself || only === undefined ? itemNode(repeated, cursors) : nodeOf(only, cursors);
}

/** The field's value where it is there: a column's, or a struct. */
function itemNode(field: ParquetField, cursors: ReadonlyMap<number, Cursor>): Node | null {
  if (field.physical !== null) {
    const cursor = cursors.get(field.column);
    return cursor === undefined ? null : { field, cursors: [cursor], read: () => cursor.take() };
  }
  const nodes = field.children.flatMap((child) => nodeOf(child, cursors) ?? []);
  const read = () => {
    const struct: [string, unknown][] = [];
    for (const node of nodes) {
      const value = node.read();
      if (value !== null) struct.push([node.field.name, value]);
    }
    return Object.fromEntries(struct);
  };
  return { field, cursors: nodes.flatMap((node) => node.cursors), read };
}

/** Null where the field is not there, which every column below it must say. */
function optional(field: ParquetField, cursors: readonly Cursor[], node: Node | null): Node {
  const read = () => {
    const isThere = isThereIn(cursors, field.maxDefinition);
    if (isThere && node !== null) return node.read();
    for (const cursor of cursors) cursor.take();
    return null;
  };
  return { field, cursors, read };
}

function isThereIn(cursors: readonly Cursor[], level: number): boolean {
  let isThere: boolean | null = null;
  for (const cursor of cursors) {
    const found = cursor.definition >= level;
    if (isThere !== null && isThere !== found) throw cursor.damage("is null where its neighbours are not");
    isThere = found;
  }
  return isThere === true;
}

/** `repeated`: the field of which there are several. */
function listNode(repeated: ParquetField, cursors: readonly Cursor[], item: Node | null): Node {
  const read = () => [...itemsOf(repeated, cursors, () => item?.read() ?? null)];
  return { field: repeated, cursors, read };
}

/** Takes the items of one list. An empty one has an entry of a lower level. */
function* itemsOf(
  repeated: ParquetField,
  cursors: readonly Cursor[],
  read: () => unknown,
): Generator<unknown> {
  if (!isThereIn(cursors, repeated.maxDefinition)) {
    for (const cursor of cursors) cursor.take();
    return;
  }
  for (;;) {
    yield read();
    const goesOn = cursors.map((cursor) => cursor.repetition >= repeated.maxRepetition);
    if (goesOn.some((each) => each !== goesOn[0])) {
      throw cursors[0]!.damage("has lists of other lengths than its neighbours");
    }
    if (!goesOn[0]) return;
    // An entry that goes on with this list has an item of it.
    if (!isThereIn(cursors, repeated.maxDefinition)) {
      throw cursors[0]!.damage("goes on with a list that has no further item");
    }
  }
}

function mapNode(
  field: ParquetField,
  cursors: readonly Cursor[],
  repeated: ParquetField,
  byColumn: ReadonlyMap<number, Cursor>,
): Node | null {
  const [keyField, valueField] = repeated.children;
  const key = keyField === undefined ? null : nodeOf(keyField, byColumn);
  const value = valueField === undefined ? null : nodeOf(valueField, byColumn);
  const entry = () => [String(key?.read() ?? ""), value?.read() ?? null];
  // Own properties, whatever the keys are called.
  const read = () => Object.fromEntries([...itemsOf(repeated, cursors, entry)] as [string, unknown][]);
  return optional(field, cursors, { field, cursors, read });
}
