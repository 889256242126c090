import { commitFileName, type LogStore } from "@deltacap/delta";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

/** An empty log, and what is needed to look at it from two sides. */
export interface LogStoreFixture {
  readonly log: LogStore;
  /** A second writer of the same log, as another process would have. */
  another(): LogStore;
  /** Puts a file beside the commits, as other engines do: `name` is relative to `_delta_log`. */
  putFile(name: string, body: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** What every {@link LogStore} must do. */
export function logStoreConformance(
  name: string,
  open: () => Promise<LogStoreFixture>,
  skip: Readonly<Record<string, string>> = {},
): void {
  describe(`log store: ${name}`, () => {
    let fixture: LogStoreFixture;
    let log: LogStore;
    beforeEach(async () => {
      fixture = await open();
      log = fixture.log;
    });
    afterEach(async () => await fixture.close());
    const check = (title: string, body: () => Promise<void>) => {
      const reason = skip[title];
      if (reason === undefined) test(title, body);
      else test.skip(`${title} (${reason})`, body);
    };

    check("an empty log lists nothing, reads nothing, and needs no repair", async () => {
      await log.repair();
      expect(await names(log, "")).toEqual([]);
      expect(await log.read(commitFileName(0))).toBeNull();
    });

    check("an empty log has no remains, and temporary or hidden files are none", async () => {
      expect(await log.remains()).toBeNull();
      for (const name of [`.tmp/${commitFileName(0)}.8d7f`, ".tmp/x", ".DS_Store", ".git/x"]) {
        await fixture.putFile(name, new Uint8Array([1]));
      }
      expect(await log.remains()).toBeNull();
    });

    for (const remains of [
      "_last_checkpoint",
      `${"0".repeat(20)}.crc`,
      `.${commitFileName(0)}.crc`,
      `${"0".repeat(20)}.${"0".repeat(19)}5.compacted.json`,
      `${"0".repeat(20)}.checkpoint.0000000001.0000000002.parquet`,
      `_staged_commits/${"0".repeat(20)}.8d7f.json`,
      "_sidecars/x.parquet",
    ]) {
      check(`the remains of a log are found, behind temporary files too: ${remains}`, async () => {
        await fixture.putFile(`.tmp/${commitFileName(0)}.8d7f`, new Uint8Array([1]));
        await fixture.putFile(remains, new Uint8Array([1]));
        expect(await log.remains()).toBe(remains);
      });
    }

    check("a committed version is read by another writer, byte for byte", async () => {
      const body = commitBody("one", "ä€\u{1f600}");
      expect(await log.commit(0, body)).toBe("committed");
      expect(same(await fixture.another().read(commitFileName(0)))).toEqual(new Uint8Array(body));
    });

    check("a version that exists is a conflict, and stays as it is", async () => {
      const first = commitBody("one");
      await log.commit(0, first);
      expect(await fixture.another().commit(0, commitBody("two"))).toBe("conflict");
      expect(await log.commit(0, commitBody("three"))).toBe("conflict");
      expect(same(await log.read(commitFileName(0)))).toEqual(new Uint8Array(first));
    });

    check("a commit whose answer was lost is known as the writer's own when it is sent again", async () => {
      await log.commit(0, commitBody("zero"));
      const body = commitBody("mine");
      expect(await log.commit(1, body)).toBe("committed");
      expect(await log.commit(1, body)).toBe("committed");
      expect(await fixture.another().commit(1, commitBody("other"))).toBe("conflict");
    });

    check("of many writers of one version exactly one succeeds, and its body is what is read", async () => {
      await log.commit(0, commitBody("zero"));
      const bodies = Array.from({ length: 8 }, (_, i) => commitBody(`writer ${i}`));
      const outcomes = await Promise.all(
        bodies.map(async (body, i) => await (i % 2 ? log : fixture.another()).commit(1, body)),
      );
      // Every other one must be told that it lost; none may be left to guess.
      expect(outcomes.filter((outcome) => outcome === "committed")).toHaveLength(1);
      const winner = bodies[outcomes.indexOf("committed")];
      await fixture.another().repair();
      expect(same(await log.read(commitFileName(1)))).toEqual(new Uint8Array(winner ?? []));
    });

    check("two writers that follow each other leave contiguous versions with every commit once", async () => {
      await log.commit(0, commitBody("zero"));
      await Promise.all([append(log, "a", 12), append(fixture.another(), "b", 12)]);
      await log.repair();
      const listed = await names(log, "");
      expect(listed).toEqual(Array.from({ length: 25 }, (_, i) => commitFileName(i)));
      const ids = await Promise.all(listed.map(async (file) => txnId(await log.read(file))));
      expect(ids.sort()).toEqual(
        ["zero", ...["a", "b"].flatMap((w) => Array.from({ length: 12 }, (_, i) => `${w}${i}`))].sort(),
      );
    });

    check("a listing begins at the given name, itself included, in name order", async () => {
      for (let version = 0; version < 12; version++) await log.commit(version, commitBody(`v${version}`));
      expect(await names(log, commitFileName(9))).toEqual([9, 10, 11].map(commitFileName));
      expect(await names(log, commitFileName(12))).toEqual([]);
      const sizes = await listed(log, commitFileName(11));
      expect(sizes[0]?.size).toBe(commitBody("v11").length);
      expect(Number.isSafeInteger(sizes[0]?.modifiedMs)).toBe(true);
    });

    check("other files of the log are listed and read, those in folders below it are not", async () => {
      await log.commit(0, commitBody("zero"));
      await log.commit(1, commitBody("one"));
      const body = new TextEncoder().encode("{}");
      await fixture.putFile("_last_checkpoint", body);
      await fixture.putFile("00000000000000000001.checkpoint.parquet", body);
      await fixture.putFile("00000000000000000001.crc", body);
      await fixture.putFile("_sidecars/016ae953.parquet", body);
      await fixture.putFile(".tmp/00000000000000000009.json.0f9d", body);
      const found = (await names(log, "0")).filter((file) => !file.startsWith("."));
      expect(found).toEqual([
        "00000000000000000000.json",
        "00000000000000000001.checkpoint.parquet",
        "00000000000000000001.crc",
        "00000000000000000001.json",
        "_last_checkpoint",
      ]);
      expect(same(await log.read("_last_checkpoint"))).toEqual(new Uint8Array(body));
      const parquet = "00000000000000000001.checkpoint.parquet";
      expect(same(await log.read(parquet, { start: 1, length: 1 }))).toEqual(body.slice(1));
      // A V2 checkpoint names its sidecar files, so that they are read without being listed.
      const sidecar = "_sidecars/016ae953.parquet";
      expect(same(await log.read(sidecar, { start: 1, length: 1 }))).toEqual(body.slice(1));
    });

    check("a commit of two megabytes is whole", async () => {
      const body = commitBody("large", "x".repeat(2_000_000));
      expect(await log.commit(0, body)).toBe("committed");
      expect((await log.read(commitFileName(0)))?.length).toBe(body.length);
    });

    check("repairing a log that is whole changes nothing", async () => {
      await log.commit(0, commitBody("zero"));
      await log.commit(1, commitBody("one"));
      await Promise.all([log.repair(), fixture.another().repair()]);
      expect(await names(log, "")).toEqual([0, 1].map(commitFileName));
      expect(await log.commit(2, commitBody("two"))).toBe("committed");
    });
  });
}

/** A commit as the engine makes it: commitInfo first, with the id by which its writer knows it again. */
export function commitBody(txn: string, filler = ""): Uint8Array {
  const info = { timestamp: 1_767_225_600_000, operation: "WRITE", txnId: txn, filler };
  return new TextEncoder().encode(`${JSON.stringify({ commitInfo: info })}\n`);
}

function txnId(body: Uint8Array | null): string {
  const line = new TextDecoder().decode(body ?? new Uint8Array()).split("\n")[0] ?? "";
  return (JSON.parse(line) as { commitInfo: { txnId: string } }).commitInfo.txnId;
}

async function append(log: LogStore, writer: string, commits: number): Promise<void> {
  let version = 1;
  for (let i = 0; i < commits; i++) {
    while ((await log.commit(version, commitBody(`${writer}${i}`))) === "conflict") {
      await log.repair();
      version++;
    }
    version++;
  }
}

async function listed(log: LogStore, from: string) {
  const found: { name: string; size: number; modifiedMs: number }[] = [];
  for await (const file of log.list(from)) found.push(file);
  return found;
}

async function names(log: LogStore, from: string): Promise<string[]> {
  return (await listed(log, from)).map((file) => file.name);
}

/** Adapters may give a subclass of Uint8Array: only the bytes count. */
function same(body: Uint8Array | null): Uint8Array | null {
  return body === null ? null : new Uint8Array(body);
}
