/** Rows of one block of 65,536, in the form in which a Roaring bitmap has them; `bytes` holds the container's alone, checked. */
export interface RowContainer {
  /** Number of the block's first row. */
  readonly firstRow: number;
  readonly count: number;
  /** Values of 16 bits in order; a bit for each row; or runs of (first value, length - 1). Everything little-endian. */
  readonly kind: "array" | "bitmap" | "runs";
  readonly bytes: Uint8Array;
}

/** Rows `from` to `to` (exclusive). */
export interface RowSpan {
  readonly from: number;
  readonly to: number;
}

/** Rows of one container. */
export const CONTAINER_ROWS = 65_536;

/** Beside its bytes. */
const CONTAINER_OBJECT_BYTES = 256;

/**
 * A set of row numbers, kept as it was written: memory is that of the bytes it was read from, however many rows they stand for.
 * Made by `readRoaringBitmap`.
 */
export class RowSet {
  /** How many rows are in it. */
  readonly count: number;
  readonly #containers: readonly RowContainer[];

  /** Containers in the order of their rows, each block at most once. */
  constructor(containers: readonly RowContainer[]) {
    this.#containers = containers;
    this.count = containers.reduce((sum, { count }) => sum + count, 0);
  }

  /** What it takes in memory, roughly. */
  get bytes(): number {
    return this.#containers.reduce((sum, { bytes }) => sum + bytes.length + CONTAINER_OBJECT_BYTES, 0);
  }

  /** The rows of the set from `from` to `to` (exclusive), in order, as spans that do not overlap. */
  *spans(from = 0, to = Number.POSITIVE_INFINITY): Generator<RowSpan> {
    for (let i = this.#firstAt(from); i < this.#containers.length; i++) {
      const container = this.#containers[i]!;
      if (container.firstRow >= to) return;
      for (const span of spansOf(container)) {
        if (span.to <= from) continue;
        if (span.from >= to) return;
        yield { from: Math.max(span.from, from), to: Math.min(span.to, to) };
      }
    }
  }

  /** The rows from `from` to `to` (exclusive) that are not in the set, as spans. */
  *spansWithout(from: number, to: number): Generator<RowSpan> {
    let next = from;
    for (const span of this.spans(from, to)) {
      if (span.from > next) yield { from: next, to: span.from };
      next = span.to;
    }
    if (next < to) yield { from: next, to };
  }

  /** How many of the rows from `from` to `to` (exclusive) are in the set. */
  countBetween(from: number, to: number): number {
    let count = 0;
    for (const span of this.spans(from, to)) count += span.to - span.from;
    return count;
  }

  /** Index of the first container that has a row from `row` on. */
  #firstAt(row: number): number {
    let low = 0;
    let high = this.#containers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#containers[middle]!.firstRow + CONTAINER_ROWS <= row) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function spansOf(container: RowContainer): Generator<RowSpan> {
  if (container.kind === "array") return arraySpans(container);
  return container.kind === "bitmap" ? bitmapSpans(container) : runSpans(container);
}

function* arraySpans({ firstRow, bytes }: RowContainer): Generator<RowSpan> {
  const view = viewOf(bytes);
  for (let at = 0; at < bytes.length; ) {
    const first = view.getUint16(at, true);
    let end = first + 1;
    for (at += 2; at < bytes.length && view.getUint16(at, true) === end; at += 2) end++;
    yield { from: firstRow + first, to: firstRow + end };
  }
}

function* bitmapSpans({ firstRow, bytes }: RowContainer): Generator<RowSpan> {
  let row = 0;
  while (row < CONTAINER_ROWS) {
    const from = nextRow(bytes, row, 1);
    if (from === CONTAINER_ROWS) return;
    row = nextRow(bytes, from, 0);
    yield { from: firstRow + from, to: firstRow + row };
  }
}

/** The first row from `row` on whose bit is `wanted`, else the number of rows. */
function nextRow(bytes: Uint8Array, row: number, wanted: 0 | 1): number {
  const passed = wanted === 1 ? 0 : 0xff;
  let next = row;
  while (next < CONTAINER_ROWS) {
    const byte = bytes[next >> 3]!;
    if ((next & 7) === 0 && byte === passed) next += 8;
    else if (((byte >> (next & 7)) & 1) === wanted) return next;
    else next++;
  }
  return CONTAINER_ROWS;
}

function* runSpans({ firstRow, bytes }: RowContainer): Generator<RowSpan> {
  const view = viewOf(bytes);
  for (let at = 0; at < bytes.length; at += 4) {
    const from = firstRow + view.getUint16(at, true);
    yield { from, to: from + view.getUint16(at + 2, true) + 1 };
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
