import type { LedgerEntry } from "../manifest/ledger.ts";
import type { SourceId } from "../manifest/source-id.ts";
import type { IdWords, IndexedStatus } from "./ledger-index.ts";

/**
 * One line of the ledger's file: an entry of a source, the watermark, or a note: entries of older versions before this byte offset
 * that lack their capture have no row in the table.
 */
export type LedgerLine =
  | { readonly id: SourceId; readonly entry: LedgerEntry }
  | { readonly watermark: number; readonly commit?: string }
  | { readonly named: number }
  /** The source is not known any more, whatever earlier lines say. */
  | { readonly released: SourceId };

/** Returns what the line says; null for an empty line, and for one that a crash tore. */
export function parseLine(text: string): LedgerLine | null {
  if (text === "") return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  if ("watermark" in value && Number.isSafeInteger(value.watermark)) {
    const watermark = value.watermark as number;
    return "commit" in value && typeof value.commit === "string"
      ? { watermark, commit: value.commit }
      : { watermark };
  }
  if ("named" in value && Number.isSafeInteger(value.named)) return { named: value.named as number };
  if ("released" in value && typeof value.released === "string") return { released: value.released };
  if ("id" in value && typeof value.id === "string" && "entry" in value && isEntry(value.entry)) {
    return { id: value.id, entry: value.entry };
  }
  return null;
}

const PREFIX = Buffer.from('{"id":"');
const MIDDLE = Buffer.from('","entry":{"status":"');
const BY_CONTENT = Buffer.from(',"byContent":true}}');
const CAPTURE = Buffer.from('"capture":"');
const QUOTE = 0x22;
const STATUSES: readonly (readonly [IndexedStatus, Buffer])[] = [
  ["earlier", Buffer.from('committed"')],
  ["rejected", Buffer.from('rejected"')],
  ["empty", Buffer.from('empty"')],
];
const CLOSING_BRACE = 0x7d;

/**
 * Returns the source and the status of an entry's line, bytes `start` to `end` of `bytes`, without parsing it: that takes a
 * tenth of the time. Null for a line of another form, which {@link parseLine} may still understand, and for a torn one.
 */
export function skimLine(
  bytes: Buffer,
  start: number,
  end: number,
): { readonly id: IdWords; readonly status: IndexedStatus; readonly unnamed: boolean } | null {
  const at = start + PREFIX.length;
  const middle = at + 32;
  const after = middle + MIDDLE.length;
  if (!startsAt(bytes, PREFIX, start, end) || !startsAt(bytes, MIDDLE, middle, end)) return null;
  if (bytes[end - 1] !== CLOSING_BRACE || bytes[end - 2] !== CLOSING_BRACE) return null;
  const words = [0, 8, 16, 24].map((digit) => hexWord(bytes, at + digit)) as [number, number, number, number];
  if (words.includes(-1)) return null;
  const found = STATUSES.find(([, text]) => startsAt(bytes, text, after, end));
  if (found === undefined) return null;
  if (found[0] !== "earlier") return { id: words, status: found[0], unnamed: false };
  if (startsAt(bytes, BY_CONTENT, end - BY_CONTENT.length, end))
    return { id: words, status: "committed", unnamed: false };
  return { id: words, status: "earlier", unnamed: captureAt(bytes, after, end) === -1 };
}

/** The same of a line that was parsed. */
export function statusOf(entry: LedgerEntry): { readonly status: IndexedStatus; readonly unnamed: boolean } {
  if (entry.status !== "committed") return { status: entry.status, unnamed: false };
  if (entry.byContent === true) return { status: "committed", unnamed: false };
  return { status: "earlier", unnamed: entry.capture === undefined };
}

/** Text of an entry's line, with what {@link skimLine} looks for in its place. */
export function lineText(line: LedgerLine): string {
  if (!("entry" in line) || line.entry.status !== "committed" || line.entry.byContent !== true)
    return JSON.stringify(line);
  const { byContent, ...entry } = line.entry;
  return JSON.stringify({ id: line.id, entry: { ...entry, byContent } });
}

/** The capture of an entry's line, as a URL of a file: that has no character that JSON escapes. Null where there is none. */
export function captureIn(bytes: Buffer, start: number, end: number): string | null {
  const at = captureAt(bytes, start, end);
  if (at === -1) return null;
  const close = bytes.indexOf(QUOTE, at);
  return close === -1 || close >= end ? null : bytes.toString("latin1", at, close);
}

function captureAt(bytes: Buffer, start: number, end: number): number {
  const found = bytes.subarray(start, end).indexOf(CAPTURE);
  return found === -1 ? -1 : start + found + CAPTURE.length;
}

function startsAt(bytes: Buffer, text: Buffer, at: number, end: number): boolean {
  if (at + text.length > end) return false;
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}

/** The number of eight lower-case digits; -1 where they are none. */
function hexWord(bytes: Buffer, at: number): number {
  let word = 0;
  for (let i = at; i < at + 8; i++) {
    const byte = bytes[i]!;
    const digit =
      byte >= 0x30 && byte <= 0x39 ? byte - 0x30 : byte >= 0x61 && byte <= 0x66 ? byte - 0x57 : -1;
    if (digit < 0) return -1;
    word = word * 16 + digit;
  }
  return word;
}

function isEntry(value: unknown): value is LedgerEntry {
  if (typeof value !== "object" || value === null) return false;
  const {
    status,
    version,
    capture,
    batchId,
    packets,
    damage,
    reason,
    offset,
    byContent,
    rowsId,
    continues,
    forgottenIn,
    source,
    size,
    hash,
  } = value as Fields;
  if (status === "unfinished")
    return [capture, source, hash].every((text) => typeof text === "string") && Number.isSafeInteger(size);
  if (status === "empty") return typeof capture === "string";
  if (status === "rejected") return typeof capture === "string" && isDamage({ reason, offset });
  return (
    status === "committed" &&
    Number.isSafeInteger(version) &&
    [capture, batchId, rowsId, continues].every((text) => text === undefined || typeof text === "string") &&
    [packets, forgottenIn].every((number) => number === undefined || Number.isSafeInteger(number)) &&
    (damage === undefined || isDamage(damage)) &&
    (byContent === undefined || byContent === true)
  );
}

function isDamage(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { reason, offset } = value as Fields;
  return typeof reason === "string" && Number.isSafeInteger(offset);
}

type Fields = Readonly<Record<string, unknown>>;
