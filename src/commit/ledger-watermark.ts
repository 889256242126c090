import { commitFileName, commitId, type LogStore, parseActions } from "@deltacap/delta";
import type { Watermark } from "../manifest/ledger.ts";

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
