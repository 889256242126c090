import { posix } from "node:path";

/**
 * The rooms of each part of the repository, from the bottom to the top: a room imports itself and the rooms before it. A name stands
 * for a folder below the part's own; "" is the part's own folder. ARCHITECTURE.md draws the same.
 */
const rooms: Readonly<Record<string, readonly string[]>> = {
  "packages/capture/src": [
    "read",
    "write",
    "decode/record",
    "decode/vehicle",
    "decode/internet",
    "decode/link-layer",
    "decode",
    "",
  ],
  "packages/parquet/src": ["memory", "columns", "encode", "nested", "read", ""],
  "packages/delta/src": [
    "actions",
    "gates",
    "stores",
    "vectors",
    "files",
    "checkpoint",
    "log",
    "stores/folder",
    "aws",
    "",
  ],
  src: ["packets", "manifest", "ingest", "commit", "upkeep", "node", "local", "aws"],
  cli: ["terminal", "cost", "stack", "duckdb", "tables", "ingest", "commands", ""],
  lib: ["settings", "observability", ""],
};

/** What each package may import by name: packages of this repository, and of the npm registry. */
export const packageImports: Readonly<Record<string, readonly string[]>> = {
  capture: [],
  parquet: ["hyparquet-compressors"],
  delta: ["@deltacap/parquet"],
};

/** Where a file stands: its part of the repository, and the index of its room in it. Null where it has none. */
export function roomOf(path: string): { part: string; index: number } | null {
  const part = Object.keys(rooms).find((name) => path.startsWith(`${name}/`));
  if (part === undefined) return null;
  const folder = posix.dirname(path.slice(part.length + 1)).replace(/^\.$/, "");
  return { part, index: rooms[part]!.indexOf(folder) };
}

/** The package that a file of the repository belongs to: "" for the application. */
export function packageOf(path: string): string {
  return /^packages\/([a-z]+)\//.exec(path)?.[1] ?? "";
}

/** Files that run anywhere: no Node, no cloud, no clock, no chance. */
export function runsAnywhere(path: string): boolean {
  if (/^packages\/[a-z]+\/src\//.test(path)) {
    return !/^packages\/delta\/src\/(aws|stores\/folder)(\/|\.ts$)|^packages\/delta\/src\/folder\.ts$/.test(
      path,
    );
  }
  return /^src\/(packets|manifest|ingest|commit|upkeep)\//.test(path);
}
