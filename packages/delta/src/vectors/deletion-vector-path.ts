import type { DeletionVector } from "../actions/actions.ts";
import { decodedText, isAbsolutePath, objectPath } from "../actions/object-path.ts";
import { TableRefusedError } from "../errors.ts";
import { decodeZ85 } from "./z85.ts";

/** Characters of an encoded UUID; what stands before is a folder's name (Delta protocol, "Deletion Vector Descriptor Schema"). */
const UUID_LENGTH = 20;

/** Where a deletion vector lies. */
export interface DeletionVectorFile {
  /** In the table's folder, or the absolute one as it is written. */
  readonly path: string;
  readonly isAbsolute: boolean;
}

/**
 * The file that holds the deletion vector of the data file `of`; null where there is no vector or no file of its own. Throws
 * `TableRefusedError` for a descriptor that is not understood, or that names no plain path.
 */
export function deletionVectorPath(
  deletionVector: DeletionVector | undefined,
  of: string,
): DeletionVectorFile | null {
  if (deletionVector === undefined) return null;
  const { storageType, pathOrInlineDv } = deletionVector;
  if (storageType === "i") return null;
  if (storageType === "p") {
    const isAbsolute = isAbsolutePath(pathOrInlineDv);
    return { path: isAbsolute ? decodedText(pathOrInlineDv) : objectPath(pathOrInlineDv), isAbsolute };
  }
  const uuid = storageType === "u" ? decodedUuid(pathOrInlineDv.slice(-UUID_LENGTH)) : null;
  if (uuid !== null) {
    const folder = pathOrInlineDv.slice(0, -UUID_LENGTH);
    const path = objectPath(`${folder === "" ? "" : `${folder}/`}deletion_vector_${uuid}.bin`);
    return { path, isAbsolute: false };
  }
  throw new TableRefusedError(
    `the deletion vector of ${of} is not understood (storage type ${storageType}): where it lies is not known. Nothing was written or deleted`,
  );
}

/** Null for what is no UUID in Z85. */
function decodedUuid(text: string): string | null {
  const bytes = text.length === UUID_LENGTH ? decodeZ85(text) : null;
  if (bytes === null) return null;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
