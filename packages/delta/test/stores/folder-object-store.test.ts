import { mkdir, readdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { CommitInDoubtError, NothingWrittenError, RetryableError } from "../../src/errors.ts";
import { ConditionalLogStore } from "../../src/stores/conditional-log-store.ts";
import { FolderObjectStore } from "../../src/stores/folder/folder-object-store.ts";

/** What calls of link(2) and mkdir(2) fail with. */
const failure = vi.hoisted(() => ({ link: null as string | null, mkdir: null as string | null }));
vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  return {
    ...real,
    link: async (from: string, to: string) => {
      if (failure.link === null) return await real.link(from, to);
      throw Object.assign(new Error(failure.link), { code: failure.link });
    },
    mkdir: async (path: string, options?: { recursive: boolean }) => {
      if (failure.mkdir === null) return await real.mkdir(path, options);
      // As Node tells the refusal of a read-only file system.
      const code = options?.recursive === true ? "ENOENT" : failure.mkdir;
      throw Object.assign(new Error(code), { code });
    },
  };
});

const bytes = (text: string) => new TextEncoder().encode(text);
const UNFINISHED = "_deltacap/tmp";

async function listed(store: FolderObjectStore): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path } of store.list("")) paths.push(path);
  return paths;
}

describe("a table's folder", () => {
  test("what a killed process left unfinished is in no listing, and later objects are not hindered", async () => {
    const folder = await temporaryFolder();
    const killed = new FolderObjectStore(folder, () => "of-the-killed").create("a");
    await killed.write(bytes("half"));
    const store = new FolderObjectStore(folder);
    expect(await readdir(join(folder, UNFINISHED))).toEqual(["of-the-killed"]);
    expect(await listed(store)).toEqual([]);
    const unfinished: [string, number][] = [];
    for await (const { path, size } of store.unfinished()) unfinished.push([path, size]);
    expect(unfinished).toEqual([[`${UNFINISHED}/of-the-killed`, 4]]);
    expect(await store.putIfAbsent("a", bytes("whole"))).toBe("created");
    expect(await listed(store)).toEqual(["a"]);
    // A killed process has no open file; this one would keep it.
    await killed.abort();
  });

  test("a put leaves nothing unfinished behind, won or lost", async () => {
    const folder = await temporaryFolder();
    const store = new FolderObjectStore(folder);
    await store.putIfAbsent("a", bytes("1"));
    await store.putIfAbsent("a", bytes("2"));
    await store.put("a", bytes("3"));
    expect(await readdir(join(folder, UNFINISHED))).toEqual([]);
  });

  test("only what nobody touched for long is cleared away", async () => {
    const folder = await temporaryFolder();
    const store = new FolderObjectStore(folder);
    await store.removeUnfinished(Date.UTC(2026, 0, 2));
    await mkdir(join(folder, UNFINISHED), { recursive: true });
    for (const [name, day] of [
      ["old", 1],
      ["new", 3],
    ] as const) {
      await writeFile(join(folder, UNFINISHED, name), name);
      await utimes(
        join(folder, UNFINISHED, name),
        Date.UTC(2026, 0, day) / 1000,
        Date.UTC(2026, 0, day) / 1000,
      );
    }
    await store.removeUnfinished(Date.UTC(2026, 0, 2));
    expect(await readdir(join(folder, UNFINISHED))).toEqual(["new"]);
  });

  test("an object is one file under its own name", async () => {
    const folder = await temporaryFolder();
    await new FolderObjectStore(folder).putIfAbsent("date=2026-01-02/a b%20.parquet", bytes("x"));
    expect((await stat(join(folder, "date=2026-01-02", "a b%20.parquet"))).nlink).toBe(1);
  });

  test("a file system without hard links is named, and nothing is visible", async () => {
    const store = new FolderObjectStore(await temporaryFolder());
    failure.link = "EPERM";
    try {
      await expect(store.putIfAbsent("a", bytes("x"))).rejects.toThrow(
        /no hard links.*Put the table on another/,
      );
    } finally {
      failure.link = null;
    }
    expect(await listed(store)).toEqual([]);
  });

  test("what the system refuses is to be tried again, with advice", async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, "file"), "x");
    const store = new FolderObjectStore(join(folder, "file"));
    await expect(store.putIfAbsent("a", bytes("x"))).rejects.toThrow(RetryableError);
    failure.link = "ENOSPC";
    try {
      const full = new FolderObjectStore(folder);
      await expect(full.putIfAbsent("a", bytes("x"))).rejects.toThrow(
        /a: ENOSPC; the disk is full: make room/,
      );
    } finally {
      failure.link = null;
    }
  });

  test("a put that certainly did not happen leaves no commit in doubt; one that broke on the way does", async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, "file"), "x");
    const body = bytes(`${JSON.stringify({ commitInfo: { txnId: "t" } })}\n`);
    const commit = (root: string) => new ConditionalLogStore(new FolderObjectStore(root)).commit(0, body);
    await expect(commit(join(folder, "file", "table"))).rejects.toThrow(NothingWrittenError);
    try {
      for (const code of ["ENOSPC", "EROFS", "EACCES", "ENOSYS"]) {
        failure.link = code;
        await expect(commit(folder), code).rejects.toThrow(NothingWrittenError);
      }
      failure.mkdir = "EROFS";
      await expect(commit(join(folder, "new"))).rejects.toThrow(/EROFS; the file system is read-only/);
      failure.mkdir = null;
      failure.link = "EIO";
      await expect(commit(folder)).rejects.toThrow(CommitInDoubtError);
    } finally {
      failure.mkdir = null;
      failure.link = null;
    }
  });
});
