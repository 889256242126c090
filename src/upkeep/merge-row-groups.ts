import { UnreadableFileError } from "@deltacap/delta";
import type { ColumnDefinition } from "@deltacap/parquet";
import { RowGroupBuilder, type SparseRowGroup } from "@deltacap/parquet";
import { compareKeys, type KeyRange, type RowKey, RowOrder } from "../packets/row-order.ts";

/** One row group to be merged with others: read when its turn comes, and free when its last row has gone. */
export interface MergeInput {
  readonly range: KeyRange;
  /** What it takes in memory once it is read. */
  readonly memoryBytes: number;
  /** What reading it takes beside that: no two are read at once. */
  readonly readingBytes: number;
  /** Of which file, for messages. */
  readonly path: string;
  read(): Promise<SparseRowGroup>;
}

/** A row group under way. */
interface Cursor {
  readonly input: MergeInput;
  /** Position among the inputs: decides between rows of the same key, so that the result is always the same. */
  readonly index: number;
  /** Of the next row; before the group is read, a key that is at most its. */
  key: RowKey;
  group: SparseRowGroup | null;
  row: number;
}

/**
 * Rows of all inputs in the table's row order, as spans of rows of one group, each to be copied before the next is asked for.
 * Row groups that are not sorted in themselves are sorted when they are read.
 *
 * Memory: the row groups whose key ranges overlap, see {@link peakMemory}. Throws `UnreadableFileError` for an input with rows that
 * are less than its range says.
 */
export async function* mergedSpans(
  inputs: readonly MergeInput[],
  columns: readonly ColumnDefinition[],
): AsyncGenerator<{ group: SparseRowGroup; from: number; to: number }> {
  const order = new RowOrder(columns);
  const heap = new CursorHeap();
  for (const [index, input] of inputs.entries()) {
    heap.push({ input, index, key: input.range.lower, group: null, row: 0 });
  }
  for (let cursor = heap.pop(); cursor !== undefined; cursor = heap.pop()) {
    if (cursor.group === null) {
      await load(cursor, order, columns);
    } else {
      const { group, row } = cursor;
      const to = spanEnd(cursor, group, order, heap.first);
      yield { group, from: row, to };
      cursor.row = to;
      if (to === group.rows) continue;
      cursor.key = order.keyOf(group, to);
    }
    if (cursor.group !== null) heap.push(cursor);
  }
}

async function load(cursor: Cursor, order: RowOrder, columns: readonly ColumnDefinition[]): Promise<void> {
  const group = sorted(await cursor.input.read(), order, columns);
  if (group.rows === 0) return;
  const key = order.keyOf(group, 0);
  if (compareKeys(key, cursor.key) < 0) {
    throw new UnreadableFileError(
      cursor.input.path,
      `has rows before ${shown(cursor.key)}, which its statistics give as the least key: they are wrong`,
    );
  }
  cursor.group = group;
  cursor.key = key;
}

function shown(key: RowKey): string {
  return key.map(String).join(", ");
}

/** The first row, after the cursor's, that another cursor's row comes before. */
function spanEnd(cursor: Cursor, group: SparseRowGroup, order: RowOrder, next: Cursor | undefined): number {
  if (next === undefined) return group.rows;
  const isBefore = (row: number) => {
    const compared = order.compareToKey(group, row, next.key);
    return compared < 0 || (compared === 0 && next.group !== null && cursor.index < next.index);
  };
  // Captures lie together, so that most spans are long: the end is looked for in growing steps.
  let known = cursor.row;
  let step = 1;
  while (known + step < group.rows && isBefore(known + step)) {
    known += step;
    step *= 2;
  }
  let end = Math.min(known + step, group.rows);
  while (end - known > 1) {
    const middle = (known + end) >> 1;
    if (isBefore(middle)) known = middle;
    else end = middle;
  }
  return end;
}

function sorted(
  group: SparseRowGroup,
  order: RowOrder,
  columns: readonly ColumnDefinition[],
): SparseRowGroup {
  let isSorted = true;
  for (let row = 1; row < group.rows && isSorted; row++)
    isSorted = order.compareRows(group, row - 1, row) <= 0;
  if (isSorted) return group;
  const rows = Array.from({ length: group.rows }, (_, row) => row);
  rows.sort((a, b) => order.compareRows(group, a, b));
  const builder = new RowGroupBuilder(columns);
  for (let from = 0; from < rows.length; ) {
    let to = from + 1;
    while (to < rows.length && rows[to] === rows[to - 1]! + 1) to++;
    builder.append(group, rows[from]!, rows[to - 1]! + 1);
    from = to;
  }
  return builder.take();
}

/** The least cursor first; of two with the same key one that is not read yet, since its first row may be less than the other's next. */
class CursorHeap {
  readonly #cursors: Cursor[] = [];

  get first(): Cursor | undefined {
    return this.#cursors[0];
  }

  push(cursor: Cursor): void {
    const cursors = this.#cursors;
    let at = cursors.push(cursor) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (compareCursors(cursors[parent]!, cursor) <= 0) break;
      cursors[at] = cursors[parent]!;
      at = parent;
    }
    cursors[at] = cursor;
  }

  pop(): Cursor | undefined {
    const cursors = this.#cursors;
    const first = cursors[0];
    const last = cursors.pop();
    if (last === undefined || cursors.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= cursors.length) break;
      if (child + 1 < cursors.length && compareCursors(cursors[child + 1]!, cursors[child]!) < 0) child++;
      if (compareCursors(last, cursors[child]!) <= 0) break;
      cursors[at] = cursors[child]!;
      at = child;
    }
    cursors[at] = last;
    return first;
  }
}

function compareCursors(a: Cursor, b: Cursor): number {
  const order = compareKeys(a.key, b.key);
  if (order !== 0) return order;
  if ((a.group === null) !== (b.group === null)) return a.group === null ? -1 : 1;
  return a.index - b.index;
}

/**
 * The most memory that merging the inputs takes: that of the row groups whose key ranges share a key, and of reading one of them,
 * where it is largest.
 */
export function peakMemory(inputs: readonly MergeInput[]): number {
  const waiting = [...inputs].sort((a, b) => compareKeys(a.range.lower, b.range.lower));
  let open: MergeInput[] = [];
  let peak = 0;
  for (const input of waiting) {
    open = open.filter(({ range }) => compareKeys(input.range.lower, range.upper) <= 0);
    open.push(input);
    peak = Math.max(
      peak,
      open.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0) +
        open.reduce((most, { readingBytes }) => Math.max(most, readingBytes), 0),
    );
  }
  return peak;
}
