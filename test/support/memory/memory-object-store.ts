import type { ObjectInfo, ObjectStore, ObjectWriter } from "@deltacap/delta";

interface StoredObject {
  readonly body: Uint8Array;
  readonly modifiedMs: number;
}

/** The table's folder in memory. Time is a counter: the n-th put is modified at millisecond n. */
export class MemoryObjectStore implements ObjectStore {
  readonly objects = new Map<string, StoredObject>();
  #clock = 0;

  create(path: string): ObjectWriter {
    let chunks: Uint8Array[] = [];
    return {
      write: async (chunk) => void chunks.push(chunk.slice()),
      commit: async () => await this.putIfAbsent(path, Buffer.concat(chunks)),
      abort: async () => {
        chunks = [];
      },
    };
  }

  async putIfAbsent(path: string, body: Uint8Array): Promise<"created" | "exists"> {
    if (this.objects.has(path)) return "exists";
    await this.put(path, body);
    return "created";
  }

  async put(path: string, body: Uint8Array): Promise<void> {
    this.objects.set(path, { body: Uint8Array.from(body), modifiedMs: ++this.#clock });
  }

  async head(path: string): Promise<ObjectInfo | null> {
    const object = this.objects.get(path);
    return object === undefined ? null : { path, size: object.body.length, modifiedMs: object.modifiedMs };
  }

  async read(path: string, range?: { start: number; length: number }): Promise<Uint8Array | null> {
    const body = this.objects.get(path)?.body;
    if (body === undefined) return null;
    return range === undefined ? body.slice() : body.slice(range.start, range.start + range.length);
  }

  async *list(prefix: string, startAfter = ""): AsyncIterable<ObjectInfo> {
    const paths = [...this.objects.keys()]
      .filter((path) => path.startsWith(prefix) && compareBytes(path, startAfter) > 0)
      .sort(compareBytes);
    for (const path of paths) {
      const info = await this.head(path);
      if (info !== null) yield info;
    }
  }

  async remove(paths: readonly string[]): Promise<void> {
    for (const path of paths) this.objects.delete(path);
  }
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
