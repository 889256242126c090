import type { DuckDBConnection, DuckDBResult } from "@duckdb/node-api";
import { type Terminal, UsageError } from "../terminal/command.ts";
import { TextTable } from "../terminal/text-table.ts";

/** DuckDB's word for a statement that has rows to show, unlike CREATE VIEW or SET: `ResultReturnType.QUERY_RESULT`. */
const QUERY_RESULT = 3;

/** Rows that decide the widths of a text table's columns. */
const LAYOUT_ROWS = 1_000;

/**
 * Runs the statements of `query` one after another and prints the rows of each: one JSON object a line, or a text table. Rows
 * pass through as DuckDB finds them, so memory does not grow with the result. Throws DuckDB's error for a statement that
 * fails, after the rows before it were printed, and `UsageError` where there is no statement.
 */
export async function printResults(
  connection: DuckDBConnection,
  query: string,
  json: boolean,
  terminal: Terminal,
): Promise<void> {
  const statements = await connection.extractStatements(query).catch(async () => {
    // Run as it is, a query with a wrong statement has DuckDB's own message, which extracting wraps or loses.
    await connection.run(query);
    throw new UsageError(
      'the query is empty: a statement such as "select count(*) from packets" is expected',
    );
  });
  let printed = 0;
  for (let i = 0; i < statements.count; i++) {
    const result = await (await statements.prepare(i)).stream();
    if (result.returnType !== QUERY_RESULT) continue;
    if (json) await printJson(result, terminal);
    else {
      if (printed > 0) terminal.out("\n");
      await printText(result, terminal);
    }
    printed++;
  }
}

async function printJson(result: DuckDBResult, terminal: Terminal): Promise<void> {
  const names = result.deduplicatedColumnNames();
  for await (const rows of result.yieldRowsJson()) {
    const lines = rows.map(
      (row) => `${JSON.stringify(Object.fromEntries(names.map((n, i) => [n, row[i]])))}\n`,
    );
    terminal.out(lines.join(""));
    await terminal.drained();
  }
}

async function printText(result: DuckDBResult, terminal: Terminal): Promise<void> {
  const table = new TextTable(result.deduplicatedColumnNames(), terminal.columns);
  let first: unknown[][] | null = [];
  for await (const rows of result.yieldRowsJson()) {
    if (first === null) terminal.out(table.lines(rows));
    else {
      for (const row of rows) first.push(row);
      if (first.length < LAYOUT_ROWS) continue;
      terminal.out(table.lines(first));
      first = null;
    }
    await terminal.drained();
  }
  if (first !== null) terminal.out(table.lines(first));
}
