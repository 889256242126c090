import { TableRefusedError } from "../errors.ts";
import type { Add, Remove } from "./actions.ts";

/**
 * What tells two files of a table apart: the path as it is written and the unique id of the deletion vector, if there is one
 * (Delta protocol, "Action Reconciliation"). The same data file with another deletion vector is another logical file. Paths are
 * not decoded, since Spark and delta-rs do not: a remove that encodes `=` where its add did not removes nothing to them, and
 * what they read must not be vacuumed.
 */
export function logicalFile({ path, deletionVector }: Pick<Add | Remove, "path" | "deletionVector">): string {
  if (deletionVector === undefined || deletionVector === null) return path;
  // A path has no NUL: no file's name looks like another one's with a deletion vector.
  return `${path}\0${deletionVectorId(deletionVector, path)}`;
}

/** `uniqueId` of Delta protocol, "Deletion Vector Descriptor Schema", "Derived Fields". */
function deletionVectorId(deletionVector: unknown, path: string): string {
  const { storageType, pathOrInlineDv, offset } = deletionVector as Readonly<Record<string, unknown>>;
  if (typeof storageType !== "string" || typeof pathOrInlineDv !== "string") {
    throw new TableRefusedError(
      `the deletion vector of ${path} has no storageType or no pathOrInlineDv: which rows are deleted is not known. Nothing was written`,
    );
  }
  const id = storageType + pathOrInlineDv;
  return offset === undefined || offset === null ? id : `${id}@${String(offset)}`;
}
