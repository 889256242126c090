import { TableRefusedError, UnreadableFileError } from "@deltacap/delta";
import { sourcesWithRows } from "../../src/commit/find-rows.ts";
import { type IdentifiedSource, identifySources } from "../../src/ingest/identify-sources.ts";
import type { SourceId } from "../../src/manifest/source-id.ts";
import { fileFilter } from "../tables/file-filter.ts";
import { findSources, vehicleRule } from "../tables/local-captures.ts";
import { existingTable, type LocalTable } from "../tables/local-table.ts";
import { type OptionValues, required, type Terminal, UsageError } from "../terminal/command.ts";
import { count, Progress } from "../terminal/progress.ts";
import { ingest } from "./ingest.ts";

/** Ingests captures into a table in a folder; with `--again` also known ones of which the table has no row. */
export async function retryInFolder(
  paths: readonly string[],
  options: OptionValues,
  terminal: Terminal,
): Promise<number> {
  const { again, ...others } = options;
  const folder = required(options, "table", "DIR");
  const wrong = ["stack", "region", "dead-letters"].find((name) => options[name] !== undefined);
  if (wrong !== undefined)
    throw new UsageError(`--${wrong} is for a stack, and --table ${folder} names a folder: leave one out`);
  if (paths.length === 0) throw new UsageError("PATH is missing: name captures, or folders of captures");
  const table = await existingTable(folder);
  if (again === true) await release(paths, table, options, terminal);
  return await ingest.run(paths, others, terminal);
}

/** Makes the ledger forget the captures of which the table has no row. Changes nothing else. */
async function release(
  paths: readonly string[],
  table: LocalTable,
  options: OptionValues,
  terminal: Terminal,
): Promise<void> {
  const progress = new Progress(terminal);
  const { sources } = await findSources(
    paths,
    table.folder,
    vehicleRule(options),
    progress,
    fileFilter(options),
  );
  progress.clear();
  // Brings the ledger up to date.
  await table.committer([]);
  const { identified } = await identifySources(
    sources,
    table.converter,
    () => false,
    () => {},
  );
  const known = await knownIds(identified, table);
  const ids = new Set(known.values());
  const live = await withRows(ids, table);
  const kept = [...known].filter(([, id]) => live.has(id));
  const [first] = kept;
  if (first !== undefined && kept.length === identified.length) {
    const [{ source }, id] = first;
    const others = kept.length === 1 ? "" : `, and those of ${count(kept.length - 1)} more captures`;
    throw new TableRefusedError(
      `rows of ${source.capture} (source_id ${id}) are in the table${others}: they would be there twice. Nothing was changed; delete them first`,
    );
  }
  await table.ledger.release([...ids].filter((id) => !live.has(id)));
  if (kept.length > 0)
    terminal.err(
      `note: rows of ${count(kept.length)} of the ${count(identified.length)} captures are in the table; they are left alone, or they would be there twice\n`,
    );
}

async function withRows(ids: ReadonlySet<SourceId>, { log, ports }: LocalTable): Promise<Set<SourceId>> {
  try {
    return await sourcesWithRows({ log, store: ports.table }, ids);
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    const problem = `${error.message}: it may have rows of these captures, which would be there twice`;
    throw new TableRefusedError(
      `${problem}. Nothing was changed; put the file back, or take it out of the table`,
      {
        cause: error,
      },
    );
  }
}

/** Of those that the ledger knows as committed: the ids that their rows have. */
async function knownIds(
  identified: readonly IdentifiedSource[],
  { ledger, converter }: LocalTable,
): Promise<Map<IdentifiedSource, SourceId>> {
  const ids = identified.map(({ id }) => id);
  const before = await ledger.lookup(ids);
  // Those that an older version committed are noted under the ids that they have now.
  await converter.earlier?.find(identified.filter(({ id }) => before.get(id)?.status !== "committed"));
  const entries = await ledger.lookup(ids);
  const known = new Map<IdentifiedSource, SourceId>();
  for (const item of identified) {
    const entry = entries.get(item.id);
    if (entry?.status === "committed") known.set(item, entry.rowsId ?? item.id);
  }
  return known;
}
