import { TableRefusedError } from "../errors.ts";
import { decodedPath } from "./commit-body.ts";

/** Z85 (ZeroMQ RFC 32). */
const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
/** Characters of an encoded UUID; what stands before is a folder's name (Delta protocol, "Deletion Vector Descriptor Schema"). */
const UUID_LENGTH = 20;

/**
 * The file that holds the deletion vector of the data file `of`, relative to the table or absolute; null where there is no vector
 * or no file of its own. Throws `TableRefusedError` for a descriptor that is not understood.
 */
export function deletionVectorPath(deletionVector: unknown, of: string): string | null {
  if (deletionVector === undefined || deletionVector === null) return null;
  const { storageType, pathOrInlineDv } = deletionVector as Readonly<Record<string, unknown>>;
  if (typeof pathOrInlineDv === "string") {
    if (storageType === "i") return null;
    if (storageType === "p") return decodedPath(pathOrInlineDv);
    const uuid = storageType === "u" ? decodedUuid(pathOrInlineDv.slice(-UUID_LENGTH)) : null;
    if (uuid !== null) {
      const folder = pathOrInlineDv.slice(0, -UUID_LENGTH);
      return `${folder === "" ? "" : `${folder}/`}deletion_vector_${uuid}.bin`;
    }
  }
  throw new TableRefusedError(
    `the deletion vector of ${of} is not understood (storage type ${String(storageType)}): where it lies is not known. Nothing was deleted`,
  );
}

/** Null for what is no UUID in Z85. */
function decodedUuid(text: string): string | null {
  if (text.length !== UUID_LENGTH) return null;
  let hex = "";
  for (let at = 0; at < UUID_LENGTH; at += 5) {
    let word = 0;
    for (const char of text.slice(at, at + 5)) {
      const digit = ALPHABET.indexOf(char);
      if (digit < 0) return null;
      word = word * 85 + digit;
    }
    if (word > 0xffff_ffff) return null;
    hex += word.toString(16).padStart(8, "0");
  }
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
