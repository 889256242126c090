import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import type { LedgerEntry } from "../manifest/ledger.ts";
import type { SourceId } from "../manifest/source-id.ts";

/** Hash key of the ledger's table; no source id, which is 32 hex digits, is equal to the watermark's. */
export const KEY = "sourceId";
/** Key of the item that holds the watermark. */
export const WATERMARK_KEY = "watermark";

/**
 * Index of the items of rejected and damaged captures, by what went wrong and when. Other items lack its keys and cost
 * nothing there.
 */
export const TROUBLE_INDEX = "trouble";
/** The index's HASH key: a {@link Trouble}. */
export const TROUBLE_KEY = "trouble";
/** The index's RANGE key: epoch milliseconds at which the item was written. */
export const NOTICED_KEY = "noticedAt";

/** Characters of a reason that are kept: an item, and a log line, stay small whatever a capture made us say. */
const REASON_CHARACTERS = 4_000;

/** What went wrong with a capture. */
export type Trouble = "rejected" | "damaged";

type Item = Record<string, AttributeValue>;

/** What an item says of time: when it was written, epoch milliseconds, and when DynamoDB may remove it, epoch seconds. */
export interface ItemTimes {
  readonly nowMs: number;
  readonly expires: number;
}

/** Returns the entry as an item of DynamoDB. */
export function toItem(id: SourceId, entry: LedgerEntry, { nowMs, expires }: ItemTimes): Item {
  const item: Item = {
    [KEY]: { S: id },
    status: { S: entry.status },
    expireTime: { N: String(expires) },
  };
  if (entry.capture !== undefined) item.capture = { S: entry.capture };
  if (entry.status === "committed") {
    item.version = { N: String(entry.version) };
    if (entry.batchId !== undefined) item.batchId = { S: entry.batchId };
    if (entry.packets !== undefined) item.packets = { N: String(entry.packets) };
    if (entry.continues !== undefined) item.continues = { S: entry.continues };
    if (entry.forgottenIn !== undefined) item.forgottenIn = { N: String(entry.forgottenIn) };
    if (entry.damage !== undefined) {
      item.offset = { N: String(entry.damage.offset) };
      item.reason = { S: entry.damage.reason.slice(0, REASON_CHARACTERS) };
      Object.assign(item, troubleKeys("damaged", nowMs));
    }
  } else if (entry.status === "rejected") {
    item.offset = { N: String(entry.offset) };
    item.reason = { S: entry.reason.slice(0, REASON_CHARACTERS) };
    Object.assign(item, troubleKeys("rejected", nowMs));
  } else if (entry.status === "unfinished") {
    item.source = { S: entry.source };
    item.size = { N: String(entry.size) };
    item.hash = { S: entry.hash };
  }
  return item;
}

function troubleKeys(trouble: Trouble, nowMs: number): Item {
  return { [TROUBLE_KEY]: { S: trouble }, [NOTICED_KEY]: { N: String(nowMs) } };
}

/** Throws an error for an item that this program did not write. */
export function fromItem(item: Item): [SourceId, LedgerEntry] {
  const id = text(item, KEY);
  const status = text(item, "status");
  if (status === "committed") {
    const { capture, batchId, packets, continues, forgottenIn } = item;
    return [
      id,
      {
        status,
        version: integer(item, "version"),
        ...(capture === undefined ? {} : { capture: text(item, "capture") }),
        ...(batchId === undefined ? {} : { batchId: text(item, "batchId") }),
        ...(packets === undefined ? {} : { packets: integer(item, "packets") }),
        ...(continues === undefined ? {} : { continues: text(item, "continues") }),
        ...(forgottenIn === undefined ? {} : { forgottenIn: integer(item, "forgottenIn") }),
        ...(item.reason === undefined
          ? {}
          : { damage: { offset: integer(item, "offset"), reason: text(item, "reason") } }),
      },
    ];
  }
  const capture = text(item, "capture");
  if (status === "empty") return [id, { status, capture }];
  if (status === "unfinished") {
    const noted = { source: text(item, "source"), size: integer(item, "size"), hash: text(item, "hash") };
    return [id, { status, capture, ...noted }];
  }
  if (status !== "rejected") throw new Error(`the ledger's item of ${id} has the unknown status "${status}"`);
  return [id, { status, capture, reason: text(item, "reason"), offset: integer(item, "offset") }];
}

function text(item: Item, name: string): string {
  const value = item[name]?.S;
  if (value === undefined) throw new Error(`the ledger's item ${shown(item)} has no text "${name}"`);
  return value;
}

function integer(item: Item, name: string): number {
  const value = Number(item[name]?.N);
  if (!Number.isSafeInteger(value))
    throw new Error(`the ledger's item ${shown(item)} has no number "${name}"`);
  return value;
}

function shown(item: Item): string {
  return JSON.stringify(item).slice(0, 200);
}
