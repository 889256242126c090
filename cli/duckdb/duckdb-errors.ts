import { RetryableError } from "@deltacap/delta";
import { UsageError } from "../terminal/command.ts";

/** How DuckDB's messages begin where a file, memory or the disk is to blame and not the query. */
const ENVIRONMENT =
  /^(IO Error|Out of Memory Error|Invalid Input Error: (No magic bytes|File '.*' too small))/;

/** DuckDB's error while the table was opened, before any query: our own errors stay as they are. */
export function openingFailed(error: unknown): unknown {
  return isDuckDbError(error) ? unreadable(error) : error;
}

/** DuckDB's error during a query that the user wrote. */
export function queryFailed(error: unknown): unknown {
  if (!isDuckDbError(error)) return error;
  if (ENVIRONMENT.test(error.message) || mentionsDataFile(error)) return unreadable(error);
  return new UsageError(`the query failed: ${error.message}`, { cause: error });
}

/** Without the lines behind the first: they show the query, here one of ours. */
function unreadable(error: Error): RetryableError {
  const [reason = ""] = error.message.split("\n");
  return new RetryableError(
    `the table's files cannot be read: ${reason}. Is a file missing or damaged? "deltacap log TABLE" shows what wrote it`,
    { cause: error },
  );
}

function mentionsDataFile(error: Error): boolean {
  return /^(Invalid Input|Serialization|TProtocolException).*\.parquet/s.test(error.message);
}

/** They have no class: their messages begin with a kind, such as "Parser Error:". */
function isDuckDbError(error: unknown): error is Error {
  return (
    error instanceof Error && error.name === "Error" && /^[A-Za-z ]+( Error|Exception)?: /.test(error.message)
  );
}
