import { writeIndices } from "../encode/rle.ts";
import { ByteBuffer } from "../memory/byte-buffer.ts";
import type { LeafColumn, NestedField } from "./nested-schema.ts";
import { leafColumns } from "./nested-schema.ts";

const utf8 = new TextEncoder();

/** Values and levels of one column of the row group that is being filled. */
export class LeafBuffer {
  readonly column: LeafColumn;
  /** Entries: values, nulls, and one for each empty or missing group. */
  count = 0;
  present = 0;
  readonly #values = new ByteBuffer(1024);
  readonly #definitionLevels = new ByteBuffer(256);
  readonly #repetitionLevels = new ByteBuffer(16);

  constructor(column: LeafColumn) {
    this.column = column;
  }

  get bytes(): number {
    return this.#values.length + this.count;
  }

  clear(): void {
    this.count = 0;
    this.present = 0;
    this.#values.clear();
    this.#definitionLevels.clear();
    this.#repetitionLevels.clear();
  }

  /** No value: `definitionLevel` says which group around it ends there. */
  addNull(definitionLevel: number, repetitionLevel = 0): void {
    this.count++;
    this.#definitionLevels.byte(definitionLevel);
    if (this.column.maxRepetitionLevel > 0) this.#repetitionLevels.byte(repetitionLevel);
  }

  /** Throws for a value that is not of the column's type: it would be another one when it is read. */
  addValue(value: unknown, repetitionLevel = 0): void {
    if (!this.#put(value)) {
      throw new TypeError(
        `column ${this.column.path.join(".")} is of type ${this.column.type}, and holds no ${shown(value)}`,
      );
    }
    this.present++;
    this.addNull(this.column.maxDefinitionLevel, repetitionLevel);
  }

  /** In PLAIN encoding (Encodings.md, "Plain"). */
  #put(value: unknown): boolean {
    switch (this.column.type) {
      case "string":
        return typeof value === "string" && this.#putString(value);
      case "boolean":
        return typeof value === "boolean" && this.#putBit(value);
      case "integer":
        if (typeof value !== "number" || (value | 0) !== value) return false;
        this.#values.int32(value);
        return true;
      case "long":
        return isLong(value) && this.#putLong(BigInt(value));
    }
  }

  #putString(value: string): true {
    const out = this.#values;
    out.reserve(4 + value.length * 3);
    const { written } = utf8.encodeInto(value, out.bytes.subarray(out.length + 4));
    out.int32(written);
    out.length += written;
    return true;
  }

  #putLong(value: bigint): true {
    const out = this.#values;
    out.reserve(8);
    out.view.setBigInt64(out.length, value, true);
    out.length += 8;
    return true;
  }

  #putBit(value: boolean): true {
    const out = this.#values;
    if ((this.present & 7) === 0) out.byte(0);
    if (value) out.bytes[out.length - 1]! |= 1 << (this.present & 7);
    return true;
  }

  /** The body of a version 1 data page with all entries: repetition levels, definition levels, values. */
  writePage(out: ByteBuffer): void {
    const { maxDefinitionLevel, maxRepetitionLevel } = this.column;
    if (maxRepetitionLevel > 0) writeLevels(this.#repetitionLevels.written(), maxRepetitionLevel, out);
    writeLevels(this.#definitionLevels.written(), maxDefinitionLevel, out);
    out.append(this.#values.written());
  }
}

function isLong(value: unknown): value is number | bigint {
  return typeof value === "bigint" ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value);
}

function shown(value: unknown): string {
  return typeof value === "object" ? "object" : `${typeof value} ${String(value).slice(0, 40)}`;
}

/** With their length before them, as a version 1 data page has them (Encodings.md, "Run Length Encoding"). */
function writeLevels(levels: Uint8Array, maxLevel: number, out: ByteBuffer): void {
  const lengthAt = out.length;
  out.int32(0);
  const widthAt = out.length;
  writeIndices(Int32Array.from(levels), 0, levels.length, 32 - Math.clz32(maxLevel), out);
  // Indices begin with the bit width in a byte, which levels do without.
  out.bytes.copyWithin(widthAt, widthAt + 1, out.length);
  out.length--;
  out.view.setInt32(lengthAt, out.length - lengthAt - 4, true);
}

/** Takes a field's value apart into its columns. */
export interface FieldShredder {
  readonly leaves: readonly LeafBuffer[];
  /** `definitionLevel`: that of the group around the field, which is there. */
  add(value: unknown, definitionLevel: number): void;
}

/** Fields that the schema does not name are left out; null and undefined are null. */
export function fieldShredder(field: NestedField, above: readonly string[] = []): FieldShredder {
  if (field.type === "struct") {
    const children = field.fields.map((child) => fieldShredder(child, [...above, field.name]));
    return structShredder(field, children);
  }
  const leaves = leafColumns(field, above).map((column) => new LeafBuffer(column));
  const [first, second] = leaves;
  if (first === undefined) throw new Error(`field ${field.name} has no column`);
  if (field.type === "map" && second !== undefined) return mapShredder(field.name, first, second);
  if (field.type === "list") return listShredder(field.name, first);
  return {
    leaves,
    add: (value, level) => (isNull(value) ? first.addNull(level) : first.addValue(value)),
  };
}

function isNull(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

function structShredder(
  { name, fields }: NestedField & { type: "struct" },
  children: readonly FieldShredder[],
): FieldShredder {
  const leaves = children.flatMap((child) => child.leaves);
  return {
    leaves,
    add: (value, level) => {
      if (isNull(value)) {
        for (const leaf of leaves) leaf.addNull(level);
        return;
      }
      if (typeof value !== "object")
        throw new TypeError(`field ${name} is a struct, and holds no ${shown(value)}`);
      const members = value as Readonly<Record<string, unknown>>;
      for (const [i, child] of children.entries()) child.add(members[fields[i]?.name ?? ""], level + 1);
    },
  };
}

function mapShredder(name: string, keys: LeafBuffer, values: LeafBuffer): FieldShredder {
  const addNulls = (level: number) => {
    keys.addNull(level);
    values.addNull(level);
  };
  return {
    leaves: [keys, values],
    add: (value, level) => {
      if (isNull(value)) return addNulls(level);
      if (typeof value !== "object")
        throw new TypeError(`field ${name} is a map, and holds no ${shown(value)}`);
      const entries = Object.entries(value);
      if (entries.length === 0) return addNulls(level + 1);
      for (const [i, [key, item]] of entries.entries()) {
        keys.addValue(key, i === 0 ? 0 : 1);
        if (isNull(item)) values.addNull(level + 2, i === 0 ? 0 : 1);
        else values.addValue(item, i === 0 ? 0 : 1);
      }
    },
  };
}

function listShredder(name: string, elements: LeafBuffer): FieldShredder {
  return {
    leaves: [elements],
    add: (value, level) => {
      if (isNull(value)) return elements.addNull(level);
      if (!Array.isArray(value)) throw new TypeError(`field ${name} is a list, and holds no ${shown(value)}`);
      if (value.length === 0) return elements.addNull(level + 1);
      for (const [i, item] of value.entries()) {
        if (isNull(item)) elements.addNull(level + 2, i === 0 ? 0 : 1);
        else elements.addValue(item, i === 0 ? 0 : 1);
      }
    },
  };
}
