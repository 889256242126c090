import type { PacketRecord } from "@deltacap/capture";
import type { Column, RowGroup } from "@deltacap/parquet";
import { AddressBuilder, giveBack, NullColumns, StringBuilder } from "@deltacap/parquet";
import { packetAppender } from "./packet-appender.ts";
import { columnsByName, type GroupedColumn, type PacketColumns, packetColumns } from "./packet-columns.ts";
import { fileColumns } from "./packet-table.ts";

/** What all rows of one capture share. One object for all of them: a batch knows a capture by it. */
export interface CaptureColumns {
  readonly capture: string;
  readonly sourceId: string;
  readonly vehicleId: string | null;
  /** Milliseconds since 1970: when the converter read the capture. */
  readonly ingestedMs: number;
}

/**
 * Rows of the packets table being collected for one partition. Rows are appended and can be taken back from the end
 * ({@link truncate}), so that a capture that fails leaves nothing behind.
 *
 * Memory: up to 330 bytes a row, according to the protocols that there are, and the frames; it grows with the rows and is kept
 * when the batch is cleared.
 */
export class PacketBatch {
  rows = 0;
  readonly #groups: PacketColumns;
  readonly #columns: ReadonlyMap<string, GroupedColumn>;
  readonly #append: (row: number, record: PacketRecord) => void;
  readonly #dictionaries: readonly (StringBuilder | AddressBuilder)[];
  readonly #nulls = new NullColumns();
  /** The capture of the rows from `#firstOfCapture` on, whose columns are not stored yet. */
  #capture: CaptureColumns | null = null;
  #firstOfCapture = 0;

  /** `hashSeed`: unpredictable to whoever uploads captures; the rows do not depend on it. */
  constructor(hashSeed: number) {
    this.#groups = packetColumns(hashSeed);
    this.#columns = columnsByName(this.#groups);
    this.#append = packetAppender(this.#groups);
    this.#dictionaries = [...this.#columns.values()]
      .map(({ builder }) => builder)
      .filter((builder) => builder instanceof StringBuilder || builder instanceof AddressBuilder);
  }

  /** Bytes of the frames in the batch. */
  get frameBytes(): number {
    return this.rows === 0 ? 0 : this.#groups.packet.columns.frame.bytesBefore(this.rows);
  }

  /** What makes a batch large besides its rows: frames, and texts not seen before (a packet's comment may be 64 KiB). */
  get bytes(): number {
    if (this.rows === 0) return 0;
    return this.#dictionaries.reduce((sum, { newBytes }) => sum + newBytes, this.frameBytes);
  }

  /** Bytes of memory, of rows and of room for those that follow, which stays when the batch is cleared. */
  get memory(): number {
    const groups = Object.values(this.#groups).reduce((sum, { memory }) => sum + memory, 0);
    const dictionaries = this.#dictionaries.reduce((sum, { bytes }) => sum + bytes, 0);
    return groups + dictionaries + this.#groups.packet.columns.frame.bytes.length;
  }

  /** Copies what the record holds; no allocation but for growth and values not seen before. */
  append(record: PacketRecord, capture: CaptureColumns): void {
    if (capture !== this.#capture) {
      this.#storeCapture();
      this.#capture = capture;
    }
    this.#append(this.rows, record);
    this.rows++;
  }

  /** Forgets all rows from `rows` on. */
  truncate(rows: number): void {
    if (rows >= this.rows) return;
    this.#storeCapture();
    for (const group of Object.values(this.#groups)) group.truncate(rows);
    this.rows = rows;
    this.#firstOfCapture = rows;
    if (rows === 0) for (const dictionary of this.#dictionaries) dictionary.endBatch();
  }

  /** Rows `from` to `to` (exclusive), in the order of the table's columns without the partition column. */
  take(from: number, to: number): RowGroup {
    this.#storeCapture();
    const columns = fileColumns.map(({ name, type }): Column => {
      const { builder, group } = this.#columns.get(name)!;
      return group.hasRows(from, to) ? builder.take(from, to) : this.#nulls.column(type, to - from);
    });
    return { rows: to - from, columns };
  }

  /** Forgets the first `count` rows; the others keep their order. Cost: a copy of the others. */
  removeFirst(count: number): void {
    if (count === this.rows) return this.clear();
    this.#storeCapture();
    for (const group of Object.values(this.#groups)) group.removeFirst(count);
    this.rows -= count;
    this.#firstOfCapture = this.rows;
  }

  clear(): void {
    this.truncate(0);
  }

  /** Gives back what the frames take in memory; the batch is of no use any more. */
  end(): void {
    giveBack(this.#groups.packet.columns.frame.bytes);
  }

  /** The columns of a capture are stored for all of its rows at once, before anything else is done with them. */
  #storeCapture(): void {
    const from = this.#firstOfCapture;
    if (this.#capture === null || from === this.rows) return;
    const { capture, sourceId, vehicleId, ingestedMs } = this.#capture;
    const { columns } = this.#groups.capture;
    this.#groups.capture.reach(this.rows - 1);
    columns.vehicle_id.codes.fill(columns.vehicle_id.code(vehicleId), from, this.rows);
    columns.capture.codes.fill(columns.capture.code(capture), from, this.rows);
    columns.source_id.codes.fill(columns.source_id.code(sourceId), from, this.rows);
    columns.ingested_at.fill(from, this.rows, Math.floor(ingestedMs / 1000), (ingestedMs % 1000) * 1_000_000);
    this.#firstOfCapture = this.rows;
  }
}
