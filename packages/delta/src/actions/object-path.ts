import { TableRefusedError } from "../errors.ts";

/** A URI with its scheme (RFC 3986), or a path from the root: a file of another table, or of this one under its full name. */
const ABSOLUTE = /^(?:[a-z][a-z0-9+.-]*:|\/)/i;
/** Segments that name no folder or file, and that stores, file systems and other engines each take in their own way. */
const NO_NAMES: ReadonlySet<string> = new Set(["", ".", ".."]);
/** Characters of a path that a message shows. */
const SHOWN = 200;

/** Whether an action's path is absolute, which is legal (shallow clones have such): it is not one of the table's own folder. */
export function isAbsolutePath(path: string): boolean {
  return ABSOLUTE.test(path);
}

/**
 * The object that an action's path names: its path in the table's folder. Every reader, rewriter and remover of files asks here, so
 * that no two of them take a path for different objects. Throws `TableRefusedError` for an absolute path, for one that is not
 * percent-encoded, and for one with a segment that is no name (`./`, `../`, `//`): on S3 that would be another object than in a
 * folder, or one outside of the table.
 */
export function objectPath(path: string): string {
  if (isAbsolutePath(path)) {
    throw refused(path, "by its absolute path: deltacap reads files in the table's folder only");
  }
  const decoded = decodedText(path);
  if (decoded.includes("\0") || decoded.split("/").some((segment) => NO_NAMES.has(segment))) {
    throw refused(path, "which is not the plain path of a file in the table's folder");
  }
  return decoded;
}

/** The text of a percent-encoded path. Throws `TableRefusedError` for what is none. */
export function decodedText(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (error) {
    throw refused(path, "which is no percent-encoded path", error);
  }
}

function refused(path: string, problem: string, cause?: unknown): TableRefusedError {
  const shown = path.length <= SHOWN ? path : `${path.slice(0, SHOWN)}...`;
  return new TableRefusedError(
    `the log names the file ${shown}, ${problem}. Nothing was written or deleted`,
    {
      cause,
    },
  );
}
