import type { ObjectInfo, ObjectStore } from "@deltacap/delta";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

/** An empty table folder, and what is needed to look at it from two sides. */
export interface ObjectStoreFixture {
  readonly store: ObjectStore;
  /** A second client of the same folder, as another process would have. */
  another(): ObjectStore;
  close(): Promise<void>;
}

export interface ObjectStoreAbilities {
  /** Bytes of the object that is written in many chunks: beyond what one put takes, where parts exist. */
  readonly largeObject?: number;
  /** Names of tests that this store, or the server behind it, cannot pass, with the reason. */
  readonly skip?: Readonly<Record<string, string>>;
}

/** What every {@link ObjectStore} must do, whatever it is made of. */
export function objectStoreConformance(
  name: string,
  open: () => Promise<ObjectStoreFixture>,
  abilities: ObjectStoreAbilities = {},
): void {
  describe(`object store: ${name}`, () => {
    let fixture: ObjectStoreFixture;
    let store: ObjectStore;
    beforeEach(async () => {
      fixture = await open();
      store = fixture.store;
    });
    afterEach(async () => await fixture.close());
    const check = (title: string, body: () => Promise<void>) => {
      const reason = abilities.skip?.[title];
      if (reason === undefined) test(title, body);
      else test.skip(`${title} (${reason})`, body);
    };

    check("what is not there is null, not an error", async () => {
      expect(await store.head("date=2026-01-02/a.parquet")).toBeNull();
      expect(await store.read("date=2026-01-02/a.parquet")).toBeNull();
      expect(await store.read("a", { start: 0, length: 10 })).toBeNull();
      expect(await paths(store, "")).toEqual([]);
    });

    check("an object put is read back by another client, byte for byte", async () => {
      const body = Uint8Array.from({ length: 256 }, (_, i) => i);
      expect(await store.putIfAbsent("folder/a", body)).toBe("created");
      expect(same(await fixture.another().read("folder/a"))).toEqual(new Uint8Array(body));
      const info = await fixture.another().head("folder/a");
      expect(info).toMatchObject({ path: "folder/a", size: 256 });
      expect(Number.isSafeInteger(info?.modifiedMs)).toBe(true);
    });

    check("put-if-absent of a path that is taken says so and changes nothing", async () => {
      await store.putIfAbsent("a", bytes("first"));
      expect(await store.putIfAbsent("a", bytes("second"))).toBe("exists");
      expect(await fixture.another().putIfAbsent("a", bytes("third"))).toBe("exists");
      expect(await text(store, "a")).toBe("first");
    });

    check("of many at once exactly one creates the object, and it is the one that is read", async () => {
      const another = fixture.another();
      const outcomes = await Promise.all(
        Array.from({ length: 16 }, (_, i) =>
          (i % 2 ? store : another).putIfAbsent("race", bytes(`writer ${i}`)),
        ),
      );
      expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(1);
      expect(await text(store, "race")).toBe(`writer ${outcomes.indexOf("created")}`);
    });

    check("an empty object is an object", async () => {
      expect(await store.putIfAbsent("empty", new Uint8Array())).toBe("created");
      expect(same(await store.read("empty"))).toEqual(new Uint8Array());
      expect(await store.head("empty")).toMatchObject({ size: 0 });
      expect(await store.putIfAbsent("empty", bytes("x"))).toBe("exists");
    });

    check("put replaces whatever is there", async () => {
      await store.put("hint", bytes("a long first version"));
      await store.put("hint", bytes("second"));
      expect(await text(fixture.another(), "hint")).toBe("second");
    });

    check("a range is read, and cut at the object's end", async () => {
      await store.putIfAbsent("a", bytes("0123456789"));
      expect(decode(await store.read("a", { start: 0, length: 4 }))).toBe("0123");
      expect(decode(await store.read("a", { start: 3, length: 4 }))).toBe("3456");
      expect(decode(await store.read("a", { start: 8, length: 100 }))).toBe("89");
    });

    check("nothing of an object is visible before its writer commits", async () => {
      const writer = store.create("date=2026-01-02/slow.parquet");
      await writer.write(bytes("half "));
      expect(await store.head("date=2026-01-02/slow.parquet")).toBeNull();
      expect(await paths(fixture.another(), "")).toEqual([]);
      await writer.write(bytes("done"));
      expect(await writer.commit()).toBe("created");
      expect(await text(store, "date=2026-01-02/slow.parquet")).toBe("half done");
    });

    check("an aborted writer leaves nothing, and the path free", async () => {
      const writer = store.create("a");
      await writer.write(bytes("gone"));
      await writer.abort();
      expect(await paths(store, "")).toEqual([]);
      expect(await store.putIfAbsent("a", bytes("kept"))).toBe("created");
      await store.create("never-written").abort();
    });

    check("a writer whose path was taken meanwhile learns it at its commit", async () => {
      const writer = store.create("a");
      await writer.write(bytes("late"));
      await store.putIfAbsent("a", bytes("early"));
      expect(await writer.commit()).toBe("exists");
      expect(await text(store, "a")).toBe("early");
    });

    check("a writer without a chunk makes an empty object", async () => {
      expect(await store.create("empty").commit()).toBe("created");
      expect(await store.head("empty")).toMatchObject({ size: 0 });
    });

    check("an object of many chunks is put together in order", async () => {
      const size = abilities.largeObject ?? 300_000;
      const whole = Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8)) & 0xff);
      const writer = store.create("large");
      const step = Math.ceil(size / 7);
      for (let at = 0; at < size; at += step) await writer.write(whole.slice(at, at + step));
      expect(await writer.commit()).toBe("created");
      const read = await store.read("large");
      expect(read?.length).toBe(size);
      expect(Buffer.compare(read ?? new Uint8Array(), whole)).toBe(0);
    });

    check("a listing has every object below the prefix, in byte order, folders ignored", async () => {
      // "-" and "." sort before "/": an order by folder would differ from the order of keys.
      const names = ["a/b/c", "a/d", "a-b", "a.b", "b", "A", "é", "\u{1f600}", "\uffee"];
      for (const path of names) await store.putIfAbsent(path, bytes(path));
      const sorted = [...names].sort((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)));
      const listed = await collect(store.list(""));
      expect(listed.map((info) => info.path)).toEqual(sorted);
      expect(listed.map((info) => info.size)).toEqual(sorted.map((path) => Buffer.byteLength(path)));
    });

    check("a prefix may end within a name, and startAfter excludes its own path", async () => {
      for (const path of ["log/08", "log/09", "log/10", "log/sub/11", "logs/x", "other"]) {
        await store.putIfAbsent(path, bytes("."));
      }
      expect(await paths(store, "log/")).toEqual(["log/08", "log/09", "log/10", "log/sub/11"]);
      expect(await paths(store, "log")).toEqual(["log/08", "log/09", "log/10", "log/sub/11", "logs/x"]);
      expect(await paths(store, "log/0")).toEqual(["log/08", "log/09"]);
      expect(await paths(store, "log/", "log/09")).toEqual(["log/10", "log/sub/11"]);
      expect(await paths(store, "log/", "log/085")).toEqual(["log/09", "log/10", "log/sub/11"]);
      expect(await paths(store, "log/", "log/zz")).toEqual([]);
      expect(await paths(store, "nothing/")).toEqual([]);
    });

    check("a listing goes on past one page", async () => {
      const names = Array.from({ length: 1100 }, (_, i) => `many/${String(i).padStart(5, "0")}`);
      for (let at = 0; at < names.length; at += 50) {
        await Promise.all(names.slice(at, at + 50).map((path) => store.putIfAbsent(path, bytes("."))));
      }
      expect(await paths(store, "many/")).toEqual(names);
    });

    check("paths are kept as they are: nothing is decoded or encoded", async () => {
      const names = ["a b", "a%20b", "a+b", "date=2026-01-02/a=b&c", "ä/ö", "q?x#y"];
      for (const path of names) await store.putIfAbsent(path, bytes(path));
      for (const path of names) expect(await text(store, path)).toBe(path);
      expect(new Set(await paths(store, ""))).toEqual(new Set(names));
    });

    check("what is removed is gone, and removing it again is no error", async () => {
      await store.putIfAbsent("a", bytes("a"));
      await store.putIfAbsent("b", bytes("b"));
      await store.remove(["a", "never"]);
      await store.remove(["a"]);
      await store.remove([]);
      expect(await paths(store, "")).toEqual(["b"]);
      expect(await store.putIfAbsent("a", bytes("again"))).toBe("created");
    });
  });
}

async function paths(store: ObjectStore, prefix: string, startAfter?: string): Promise<string[]> {
  return (await collect(store.list(prefix, startAfter))).map((info) => info.path);
}

async function collect(listing: AsyncIterable<ObjectInfo>): Promise<ObjectInfo[]> {
  const found: ObjectInfo[] = [];
  for await (const info of listing) found.push(info);
  return found;
}

function bytes(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

function decode(value: Uint8Array | null): string | null {
  return value === null ? null : new TextDecoder().decode(value);
}

async function text(store: ObjectStore, path: string): Promise<string | null> {
  return decode(await store.read(path));
}

/** Adapters may give a subclass of Uint8Array: only the bytes count. */
function same(body: Uint8Array | null): Uint8Array | null {
  return body === null ? null : new Uint8Array(body);
}
