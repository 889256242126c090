import type { Add } from "@deltacap/delta";
import { loggedVersions, readCommit, statedDeletedRows, statedRows } from "@deltacap/delta";
import { readCommitTags } from "../../src/commit/commit-tags.ts";
import { readableTable } from "../tables/readable-table.ts";
import { type Command, ExitCode, onlyPositional } from "../terminal/command.ts";
import { textTable } from "../terminal/text-table.ts";

/** The command `log`. */
export const log: Command = {
  name: "log",
  summary: "a table's versions: when, by whom, files, rows, sources",
  help: `Usage: deltacap log TABLE [--json]

TABLE is a folder or an s3:// URI. Lists the table's versions, oldest first: what each added and removed, and how many sources (captures) it brought.

  --json    one JSON object a version
`,
  options: { json: { type: "boolean" } },
  run: async (positionals, options, terminal) => {
    const table = await readableTable(onlyPositional(positionals, "TABLE"));
    const versions: VersionSummary[] = [];
    const { all, sinceGap } = await loggedVersions(table.log);
    if (sinceGap.length < all.length) {
      terminal.err(
        "note: the log lacks commits that a checkpoint covers: only the versions since that checkpoint are listed\n",
      );
    }
    for (const version of sinceGap) {
      const summary = await summarize(table.log, version);
      if (options.json === true) terminal.out(`${JSON.stringify(summary)}\n`);
      else versions.push(summary);
    }
    if (options.json !== true) {
      const names = [
        "version",
        "time",
        "operation",
        "engine",
        "files",
        "removed",
        "rows",
        "bytes",
        "sources",
      ];
      terminal.out(
        textTable(
          names,
          versions.map((summary) => Object.values({ ...summary, rows: summary.rows ?? "unknown" })),
        ),
      );
    }
    return ExitCode.ok;
  },
};

interface VersionSummary {
  readonly version: number;
  readonly time: string | null;
  readonly operation: string | null;
  readonly engine: string | null;
  readonly files: number;
  readonly removed: number;
  /** Null where a file's statistics do not say. */
  readonly rows: number | null;
  readonly bytes: number;
  readonly sources: number;
}

async function summarize(log: Parameters<typeof readCommit>[0], version: number): Promise<VersionSummary> {
  const actions = await readCommit(log, version);
  const info = actions.find((action) => action.commitInfo !== undefined)?.commitInfo;
  const adds = actions.flatMap((action) => (action.add === undefined ? [] : [action.add]));
  return {
    version,
    time: info?.timestamp === undefined ? null : new Date(info.timestamp).toISOString(),
    operation: info?.operation ?? null,
    engine: info?.engineInfo ?? null,
    files: adds.length,
    removed: actions.filter((action) => action.remove !== undefined).length,
    rows: rowsOf(adds),
    bytes: adds.reduce((sum, add) => sum + add.size, 0),
    sources: readCommitTags(info?.tags)?.sources.length ?? 0,
  };
}

/** Rows of the table in the files; null where one of them has no statistics, or such as cannot be. */
function rowsOf(adds: readonly Add[]): number | null {
  let sum = 0;
  for (const add of adds) {
    const rows = (statedRows(add) ?? -1) - statedDeletedRows(add);
    if (rows < 0) return null;
    sum += rows;
  }
  return sum;
}
