/**
 * One capture into Parquet files as the converter writes them: `ours.ts CAPTURE FOLDER`. A program of its own, so that its CPU
 * time and peak memory are compared with those of other programs.
 */
import { type FileHandle, open } from "node:fs/promises";
import { basename, join } from "node:path";
import type { NewObject } from "@deltacap/parquet";
import { nodeParquetWriter } from "../../src/node/parquet.ts";
import { convertCapture } from "../convert-capture.ts";

const [input, folder] = process.argv.slice(2);
if (input === undefined || folder === undefined) throw new Error("usage: ours.ts CAPTURE FOLDER");
const packets = await convertCapture(input, basename(input), nodeParquetWriter, (path) =>
  newFile(join(folder, basename(path))),
);
console.log(packets);

/** Written as it comes, as an upload in parts does. */
function newFile(path: string): NewObject {
  let file: FileHandle | null = null;
  return {
    write: async (chunk) => {
      file ??= await open(path, "w");
      await file.writeFile(chunk);
    },
    commit: async () => {
      await file?.close();
      return "created";
    },
    abort: async () => {
      await file?.close();
    },
  };
}
