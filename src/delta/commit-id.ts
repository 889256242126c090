import { crc32 } from "../decode/crc32.ts";
import type { Watermark } from "../manifest/ledger.ts";
import { type Action, parseActions } from "./actions.ts";
import { commitFileName, type LogStore } from "./log-store.ts";

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

/**
 * Why a ledger with this watermark is no index of the log, of which `newest` is the newest version (-1: it has none); null where
 * nothing says so. A log that was put back from a backup, or made anew, soon reaches the watermark again, with other commits:
 * whatever the ledger says of them is wrong. Cost: the commit at the watermark is read, where it is still there.
 */
export async function contradiction(
  log: Pick<LogStore, "read">,
  { version, commit }: Watermark,
  newest: number,
): Promise<string | null> {
  if (version > newest) {
    return `it is complete up to version ${version}, and the log ends at ${newest < 0 ? "nothing" : newest}`;
  }
  if (commit === undefined) return null;
  const name = commitFileName(version);
  const body = await log.read(name);
  if (body === null) return null;
  const found = commitId(parseActions(body, name));
  return found === commit
    ? null
    : `its version ${version} is the commit ${commit}, and the log's is ${found}`;
}
