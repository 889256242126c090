import { TableRefusedError } from "../errors.ts";
import type { Add, Remove } from "./actions.ts";
import { decodedPath } from "./commit-body.ts";

/**
 * What tells two files of a table apart: the decoded path and the unique id of the deletion vector, if there is one (Delta
 * protocol, "Action Reconciliation"). The same data file with another deletion vector is another logical file.
 */
export function logicalFile({ path, deletionVector }: Pick<Add | Remove, "path" | "deletionVector">): string {
  const file = decodedPath(path);
  if (deletionVector === undefined || deletionVector === null) return file;
  // A path has no NUL: no file's name looks like another one's with a deletion vector.
  return `${file}\0${deletionVectorId(deletionVector, path)}`;
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
