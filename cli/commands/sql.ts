import { openingFailed, queryFailed } from "../duckdb/duckdb-errors.ts";
import { printResults } from "../duckdb/query-results.ts";
import { downloadHelp, downloadOptions, downloadSettings } from "../tables/download.ts";
import { openPackets, readableTable } from "../tables/readable-table.ts";
import { type Command, ExitCode, UsageError } from "../terminal/command.ts";

/** The command `sql`. */
export const sql: Command = {
  name: "sql",
  summary: "DuckDB over a table's live files; the table is `packets`",
  help: `Usage: deltacap sql TABLE "select ..." [--max-download MB] [--json]

Runs a query on the table's newest version with DuckDB. The table is named packets; docs/table.md lists its columns.
The query may have several statements, separated by semicolons: the rows of each are printed. Results of any size pass
through. Only a terminal that is too narrow cuts long values; a pipe gets them whole.
TABLE is a folder or an s3:// URI; files on S3 are copied to this machine first, since DuckDB alone does not read S3.

${downloadHelp}
  --json              one JSON object a row

Example: deltacap sql T "select vehicle_id, count(*) as packets from packets group by all order by 2 desc"
`,
  options: { ...downloadOptions, json: { type: "boolean" } },
  run: async (positionals, options, terminal) => {
    const [folder, query, ...more] = positionals;
    if (folder === undefined || query === undefined) throw new UsageError("TABLE and a query are expected");
    if (more.length > 0)
      throw new UsageError(`one query is expected: put it in quotes (there is also ${more[0]})`);
    const download = downloadSettings(options, terminal);
    const { connection, close } = await openPackets(await readableTable(folder), download).catch((error) => {
      throw openingFailed(error);
    });
    try {
      await printResults(connection, query, options.json === true, terminal);
      return ExitCode.ok;
    } catch (error) {
      throw queryFailed(error);
    } finally {
      await close();
    }
  },
};
