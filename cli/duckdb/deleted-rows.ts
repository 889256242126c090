import type { Add, ObjectStore } from "@deltacap/delta";
import { DataFileReader, readAhead, TableRefusedError, UnreadableFileError } from "@deltacap/delta";
import type { DuckDBConnection } from "@duckdb/node-api";

/** Files whose deletion vectors are read at once. */
const PARALLEL = 8;
/** DuckDB's `get_bit` takes a position of 32 bits. */
const MAXIMUM_ROWS = 2 ** 31 - 1;

/**
 * Makes the table `deltacap.deleted_rows` of what the files' deletion vectors delete: for each file, as `nameOf` names it, one bit a
 * row. A bit a row takes less memory than the row numbers do, and is looked up instead of joined. Throws `TableRefusedError` for a
 * vector that cannot be read: which rows are the table's is not known then.
 */
export async function createDeletedRows<File extends Pick<Add, "path" | "size" | "deletionVector">>(
  connection: DuckDBConnection,
  store: ObjectStore,
  files: readonly File[],
  nameOf: (file: File) => string,
): Promise<void> {
  await connection.run("CREATE SCHEMA deltacap");
  await connection.run("CREATE TABLE deltacap.deleted_rows (deltacap_of VARCHAR, deltacap_bits BIT)");
  const insert = await connection.prepare("INSERT INTO deltacap.deleted_rows VALUES ($1, $2::BLOB::BIT)");
  const read = async (file: File) => ({ name: nameOf(file), bits: await deletedBits(store, file) });
  for await (const { name, bits } of readAhead(files, PARALLEL, read)) {
    insert.bindVarchar(1, name);
    insert.bindBlob(2, bits);
    await insert.run();
  }
}

/** A bit for each row of the file, from the highest of the first byte on: 1 where the row is deleted. */
async function deletedBits(
  store: ObjectStore,
  file: Pick<Add, "path" | "size" | "deletionVector">,
): Promise<Uint8Array> {
  const reader = await DataFileReader.open(store, file, []).catch((error: unknown) => {
    if (!(error instanceof UnreadableFileError)) throw error;
    throw new TableRefusedError(`${error.message}. Which of its rows are deleted is not known`, {
      cause: error,
    });
  });
  if (reader.storedRows > MAXIMUM_ROWS) {
    throw new TableRefusedError(
      `${reader.path} has ${reader.storedRows} rows and a deletion vector, and at most ${MAXIMUM_ROWS} can be read then: use Spark`,
    );
  }
  const bits = new Uint8Array((reader.storedRows + 7) >> 3);
  for (const { from, to } of reader.deletedSpans()) {
    for (let row = from; row < to; row++) bits[row >> 3] = bits[row >> 3]! | (0x80 >> (row & 7));
  }
  return bits;
}
