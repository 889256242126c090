import type { RowGroupCheck } from "@deltacap/parquet";
import { type ParquetFooter, parseFooter, type RowGroupMetadata, TRAILER_BYTES } from "@deltacap/parquet";
import type { Action } from "../actions/actions.ts";
import { stringifyJson } from "../actions/json.ts";
import { checkpointBatches } from "./checkpoint.ts";
import { checkpointRow, checkpointSchema } from "./checkpoint-schema.ts";
import { TextDigest } from "./text-digest.ts";

/**
 * Compares a checkpoint that is being written with what is read back of it, by the reader of every checkpoint: row group by row
 * group, so that neither the file nor its rows must be held, and the footer at the end. Errors are plain ones: a difference is a
 * bug, or broken memory.
 */
export class CheckpointCheck {
  readonly #name: string;
  readonly #rowGroups: RowGroupMetadata[] = [];
  #written = new RowDigest();

  constructor(name: string) {
    this.#name = name;
  }

  /** A row that goes into the next row group. */
  add(row: Readonly<Record<string, unknown>>): void {
    this.#written.add(row);
  }

  readonly checkRowGroup: RowGroupCheck = async (file, offset) => {
    const written = this.#written;
    this.#written = new RowDigest();
    const read = await digestOf(this.#name, file);
    if (String(read) !== String(written)) {
      throw new Error(
        `row group ${this.#rowGroups.length} of ${this.#name} is read back as ${read}, and ${written} was written. The checkpoint was not put; this is a bug: please report it`,
      );
    }
    const [group] = footerOf(file).rowGroups;
    // The magic number stands before it there.
    if (group !== undefined) this.#rowGroups.push(moved(group, offset - 4));
  };

  /** `footer`: the end of the file. Every row group must stand there as it was when it was read back. */
  checkFooter(footer: Uint8Array): void {
    const { rowGroups: found } = footerOf(footer);
    if (stringifyJson(found) === stringifyJson(this.#rowGroups)) return;
    throw new Error(
      `the footer of ${this.#name} tells of ${found.length} row groups, and not as they were written, ${this.#rowGroups.length} of them. The checkpoint was not put; this is a bug: please report it`,
    );
  }
}

/** Of a file, or of its end alone. */
function footerOf(bytes: Uint8Array): ParquetFooter {
  const trailer = bytes.length - TRAILER_BYTES;
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(trailer, true);
  return parseFooter(bytes.subarray(trailer - length, trailer), trailer - length);
}

/** With the offsets that the row group has `by` bytes further on. */
function moved({ rows, columns }: RowGroupMetadata, by: number): RowGroupMetadata {
  return { rows, columns: columns.map((chunk) => ({ ...chunk, dataPageOffset: chunk.dataPageOffset + by })) };
}

async function digestOf(name: string, file: Uint8Array): Promise<RowDigest> {
  const digest = new RowDigest();
  const log = {
    read: async (_: string, { start, length } = { start: 0, length: file.length }) =>
      file.subarray(start, start + length),
  };
  const checkpoint = { version: 0, files: [{ name, size: file.length, modifiedMs: 0 }] };
  const kinds = checkpointSchema.map((field) => field.name as keyof Action);
  for await (const actions of checkpointBatches(log, checkpoint, kinds)) {
    for (const action of actions) digest.add(checkpointRow(action));
  }
  return digest;
}

/** Rows in their order, as JSON. */
class RowDigest {
  #rows = 0;
  readonly #text = new TextDigest();

  add(row: Readonly<Record<string, unknown>>): void {
    this.#rows++;
    this.#text.add(stringifyJson(row));
  }

  toString(): string {
    return `${this.#rows} actions (digest ${this.#text})`;
  }
}
