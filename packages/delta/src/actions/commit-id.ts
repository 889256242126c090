import type { Action } from "./actions.ts";
import { crc32 } from "./crc32.ts";

const utf8 = new TextEncoder();
/** Longer ones than a UUID with some prefix are somebody else's idea: a watermark stays small. */
const TXN_ID_LENGTH = 100;

/** What tells a commit from any other of the same version: its `txnId`, or a checksum where its writer gives none. */
export function commitId(actions: readonly Action[]): string {
  for (const { commitInfo } of actions) {
    const txnId: unknown = commitInfo?.txnId;
    if (typeof txnId === "string" && txnId !== "" && txnId.length <= TXN_ID_LENGTH) return txnId;
  }
  return `crc32 ${crc32(utf8.encode(actions.map(scalars).join("\n")))}`;
}

/** Lists and objects are left out: other writers' may be nested deeper than can be written. */
function scalars(action: Action): string {
  return Object.entries(action)
    .map(([kind, body]) =>
      [kind, ...Object.values(body).filter((value) => typeof value !== "object")].join(" "),
    )
    .join(" ");
}
