import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { MemoryObjectStore } from "../memory/memory-object-store.ts";

const FIXTURE = join(import.meta.dirname, "../../fixtures/delta-log");

/** A store with a log by delta-rs 1.6.0: versions 0 to 4, a classic checkpoint at 3 (see test/fixtures/README.md). */
export async function deltaLogFixture(): Promise<MemoryObjectStore> {
  const store = new MemoryObjectStore();
  for (const name of await readdir(FIXTURE)) {
    if (name === "make.py") continue;
    await store.put(`_delta_log/${name}`, await readFile(join(FIXTURE, name)));
  }
  return store;
}
