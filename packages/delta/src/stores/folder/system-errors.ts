import { RetryableError } from "../../errors.ts";

/** True for "there is no such file", which callers take as an answer. */
export function isNotFound(error: unknown): boolean {
  return codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR";
}

/** True for "there is one already". */
export function isExisting(error: unknown): boolean {
  return codeOf(error) === "EEXIST";
}

/** True for "this file system cannot do that", as link(2) says it. */
export function isUnsupported(error: unknown): boolean {
  return ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(codeOf(error) ?? "");
}

/** True where the system says that it did not do it, and not that something went wrong on the way. */
export function isRefusal(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT", "EACCES", "EPERM", "EROFS", "EMLINK"].includes(codeOf(error) ?? "");
}

/** What the operating system refused, as the error that says that it was not our input's fault. Bugs stay as they are. */
export function translated(error: unknown, what: string): unknown {
  const code = codeOf(error);
  if (code === null) return error;
  const advice = ADVICE[code] ?? "look at the file system, then run it again";
  return new RetryableError(`${what}: ${code}; ${advice}`, { cause: error });
}

const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full: make room, then run it again",
  EDQUOT: "the disk quota is used up: make room, then run it again",
  EACCES: "permission is missing: grant it, then run it again",
  EPERM: "permission is missing: grant it, then run it again",
  ENOTDIR: "a part of the path is a file and no folder: choose another folder",
  EEXIST: "a part of the path is a file and no folder: choose another folder",
  EROFS: "the file system is read-only: choose another folder",
  EMFILE: "too many files are open: raise the limit (ulimit -n), then run it again",
};

function codeOf(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return null;
  // Node's own argument errors (ERR_...) are bugs of ours, not answers of the system.
  return error.code.startsWith("ERR_") ? null : error.code;
}
