import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { isNotFound, translated } from "@deltacap/delta/folder";
import { UsageError } from "./command.ts";

/** What is at a path that the user named. Throws `UsageError` where there is nothing, `RetryableError` where the system refuses. */
export async function statOf(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (error) {
    if (isNotFound(error)) throw nothingAt(path);
    throw translated(error, `cannot read ${path}`);
  }
}

/** Throws `UsageError` where there is nothing at the path; whether it can be read is found out later. */
export async function requireThere(path: string): Promise<void> {
  try {
    await stat(path);
  } catch (error) {
    if (isNotFound(error)) throw nothingAt(path);
  }
}

function nothingAt(path: string): UsageError {
  return new UsageError(`${path}: there is no such file or folder`);
}
