import type { Add, DeletionVector, Remove } from "./actions.ts";

/**
 * What tells two files of a table apart: the path as it is written and the unique id of the deletion vector, if there is one
 * (Delta protocol, "Action Reconciliation"). The same data file with another deletion vector is another logical file. Paths are
 * not decoded, since Spark and delta-rs do not: a remove that encodes `=` where its add did not removes nothing to them, and
 * what they read must not be vacuumed.
 */
export function logicalFile({ path, deletionVector }: Pick<Add | Remove, "path" | "deletionVector">): string {
  // A path has no NUL: no file's name looks like another one's with a deletion vector.
  return deletionVector === undefined ? path : `${path}\0${uniqueId(deletionVector)}`;
}

/** `uniqueId` of Delta protocol, "Deletion Vector Descriptor Schema", "Derived Fields". */
function uniqueId({ storageType, pathOrInlineDv, offset }: DeletionVector): string {
  const id = storageType + pathOrInlineDv;
  return offset === undefined ? id : `${id}@${offset}`;
}
