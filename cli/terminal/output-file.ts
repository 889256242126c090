import { randomUUID } from "node:crypto";
import { type FileHandle, open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isNotFound, translated } from "@deltacap/delta/folder";
import { UsageError } from "./command.ts";
import type { Interruption } from "./interruption.ts";

/**
 * Makes the file `output` of what `write` appends. It is written beside it under a name of its own and renamed at the end: a failure
 * or a signal leaves what was there. Throws `UsageError` where the name is a folder's, a device's, or that of the file `input` (by whatever path),
 * `RetryableError` where the system refuses.
 */
export async function writeOutput<Result>(
  output: string,
  input: string | null,
  interruption: Interruption,
  write: (append: (bytes: Uint8Array) => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const target = await targetOf(output, input);
  const failed = (error: unknown) => translated(error, `cannot write ${output}`);
  const unfinished = join(dirname(target), `.deltacap-${randomUUID()}.unfinished`);
  // Exclusively: nothing that is there may be written to.
  let file: FileHandle | null = await open(unfinished, "wx").catch((error: unknown) => {
    throw failed(error);
  });
  const release = interruption.guard(() => rm(unfinished, { force: true }));
  try {
    const result = await write(async (bytes) => {
      await file?.writeFile(bytes).catch((error: unknown) => {
        throw failed(error);
      });
    });
    try {
      await file.close();
      file = null;
      await rename(unfinished, target);
    } catch (error) {
      throw failed(error);
    }
    return result;
  } catch (error) {
    await file?.close().catch(() => {});
    await rm(unfinished, { force: true });
    throw error;
  } finally {
    release();
  }
}

/** The file to be replaced, where `output` is a link to it. */
async function targetOf(output: string, input: string | null): Promise<string> {
  const found = await statIfThere(output);
  if (found === null) {
    const folder = await statIfThere(dirname(output));
    if (folder === null)
      throw new UsageError(`cannot write ${output}: there is no folder ${dirname(output)}`);
    return join(await realpath(dirname(output)), basename(output));
  }
  if (found.isDirectory()) throw new UsageError(`cannot write ${output}: it is a folder; name a file in it`);
  if (!found.isFile()) throw new UsageError(`cannot write ${output}: it is no file that can be replaced`);
  const from = input === null ? null : await statIfThere(input);
  if (from !== null && from.dev === found.dev && from.ino === found.ino)
    throw new UsageError(`${output} is the input itself: choose another name`);
  return await realpath(output);
}

async function statIfThere(path: string) {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if (isNotFound(error)) return null;
    throw translated(error, `cannot look at ${path}`);
  }
}
