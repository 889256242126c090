import { appendFile, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { RetryableError } from "@deltacap/delta";
import { beforeEach, describe, expect, test } from "vitest";
import { FolderLedger } from "../../src/local/folder-ledger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const id = (number: number) => number.toString(16).padStart(32, "0");
const committed = (version: number) => ({ status: "committed", version }) as const;

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  path = join(folder, "_deltacap", "ledger.log");
});

describe("the ledger's file", () => {
  test("a line torn by a crash is lost alone: what comes after it is not swallowed", async () => {
    await new FolderLedger(folder).putCommitted(new Map([[id(1), committed(1)]]));
    await appendFile(path, `\n{"id":"${id(2)}","entry":{"status":"comm`);
    const next = new FolderLedger(folder);
    await next.putCommitted(new Map([[id(3), committed(3)]]));
    await next.advanceWatermark({ version: 3 });
    const found = await new FolderLedger(folder).lookup([id(1), id(2), id(3)]);
    expect([...found.keys()]).toEqual([id(1), id(3)]);
    expect(await new FolderLedger(folder).watermark()).toEqual({ version: 3 });
  });

  test("lines that make no sense are passed over", async () => {
    await new FolderLedger(folder).advanceWatermark({ version: 1 });
    await appendFile(
      path,
      '\nnull\n5\n[]\n{"watermark":"9"}\n{"watermark":2.5}\n{"id":7,"entry":{}}\n{"id":"x"}\n',
    );
    const entries = [
      null,
      {},
      "y",
      { status: "committed" },
      { status: "committed", version: "1" },
      { status: "committed", version: 1, damage: null },
      { status: "committed", version: 1, packets: "2" },
      { status: "committed", version: 1, byContent: "yes" },
      { status: "committed", version: 1, rowsId: 7 },
      { status: "committed", version: 1, forgottenIn: "2" },
      { status: "rejected", capture: "c" },
      { status: "empty" },
      { status: "lost", capture: "c" },
    ];
    for (const entry of entries) await appendFile(path, `\n${JSON.stringify({ id: id(1), entry })}\n`);
    const ledger = new FolderLedger(folder);
    expect(await ledger.watermark()).toEqual({ version: 1 });
    expect(await ledger.lookup([id(1)])).toEqual(new Map());
  });

  test("what others append is seen, and what was read is not read again", async () => {
    const ledger = new FolderLedger(folder);
    await ledger.putCommitted(new Map([[id(1), committed(1)]]));
    await ledger.lookup([]);
    // Changed in place, at the same length: seen only by a reader that reads it again.
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replace(id(1), id(9)));
    await new FolderLedger(folder).putCommitted(new Map([[id(2), committed(2)]]));
    const found = await ledger.lookup([id(2), id(9)]);
    expect([...found]).toEqual([[id(2), committed(2)]]);
  });

  test("an entry that says more stays when its commit is replayed from the log", async () => {
    const ledger = new FolderLedger(folder);
    const full = { ...committed(1), capture: "c", batchId: "b", packets: 2 };
    await ledger.putCommitted(new Map([[id(1), full]]));
    await new FolderLedger(folder).putCommitted(new Map([[id(1), committed(1)]]));
    expect((await new FolderLedger(folder).lookup([id(1)])).get(id(1))).toEqual(full);
  });

  test("lines of older versions are told from those that are known by content, however they are written", async () => {
    const capture = "file:///a.pcap";
    const lines = [
      `{"id":"${id(1)}","entry":{"status":"committed","version":1,"capture":"${capture}"}}`,
      `{"id": "${id(2)}", "entry": {"version":1, "capture":"${capture}", "status":"committed"}}`,
      `{"id":"${id(3)}","entry":{"status":"committed","version":1,"byContent":true}}`,
      `{"entry":{"byContent":true,"status":"committed","version":1,"capture":"${capture}"},"id":"${id(4)}"}`,
      JSON.stringify({
        id: id(5),
        entry: { ...committed(1), damage: { offset: 1, reason: `,"byContent":true}} "capture":"x` } },
      }),
      `{"id":"${id(6)}","entry":{"status":"rejected","capture":"${capture}","reason":"x","offset":0}}`,
    ];
    await new FolderLedger(folder).advanceWatermark({ version: 0 });
    for (const line of lines) await appendFile(path, `\n${line}\n`);
    const ledger = new FolderLedger(folder);
    await ledger.putCommitted(
      new Map([[id(7), { status: "committed", byContent: true, version: 1, packets: 1 }]]),
    );
    expect(await ledger.earlierSources()).toBe(3);
    expect(await ledger.hasUnnamed()).toBe(true);
    const seen: string[] = [];
    await ledger.forEachEarlier(
      () => true,
      (earlier) => void seen.push(earlier.id),
    );
    expect(seen).toEqual([id(1), id(2)]);
    await ledger.nameEarlier(
      new Map([
        [id(5), "file:///b"],
        [id(3), "file:///c"],
      ]),
    );
    await ledger.noteNamed(await ledger.end());
    const next = new FolderLedger(folder);
    expect([await next.earlierSources(), await next.hasUnnamed()]).toEqual([3, false]);
    const found = await next.lookup([id(3), id(5)]);
    expect([...found.values()].map((entry) => entry.capture)).toEqual([undefined, "file:///b"]);
  });

  test("over 512 MB is read, with a tail of zeros that a power loss left in the middle", async () => {
    await new FolderLedger(folder).putCommitted(new Map([[id(1), committed(1)]]));
    // A hole takes no space on the disk. A string of that length is more than Node has.
    await truncate(path, 600 * 1024 * 1024);
    const ledger = new FolderLedger(folder);
    await ledger.putCommitted(new Map([[id(2), committed(2)]]));
    await ledger.advanceWatermark({ version: 2 });
    const again = new FolderLedger(folder);
    expect([...(await again.lookup([id(1), id(2), id(3)])).keys()]).toEqual([id(1), id(2)]);
    expect(await again.watermark()).toEqual({ version: 2 });
  });

  test("deleting it between runs is safe: the next one knows that it knows nothing", async () => {
    await new FolderLedger(folder).advanceWatermark({ version: 4 });
    await rm(path);
    expect(await new FolderLedger(folder).watermark()).toBeNull();
  });

  test("removed, cut or replaced while a run uses it: that run ends, and writes no watermark", async () => {
    const spoilers = [
      async () => await rm(path),
      async () => await rm(dirname(path), { recursive: true }),
      async () => await writeFile(path, ""),
      async () => {
        await rm(path);
        await new FolderLedger(folder).putCommitted(
          new Map(Array.from({ length: 9 }, (_, i) => [id(i), committed(i)])),
        );
      },
    ];
    for (const spoil of spoilers) {
      await rm(dirname(path), { recursive: true, force: true });
      const ledger = new FolderLedger(folder);
      await ledger.putCommitted(new Map([[id(1), committed(1)]]));
      await ledger.advanceWatermark({ version: 1 });
      await spoil();
      await expect(ledger.advanceWatermark({ version: 2 })).rejects.toThrow(RetryableError);
      await expect(ledger.lookup([id(1)])).rejects.toThrow(/Run it again/);
      expect(await new FolderLedger(folder).watermark()).toBeNull();
    }
  });

  test("calls of one instance that overlap take no line for another", async () => {
    const ledger = new FolderLedger(folder);
    for (let i = 0; i < 5; i++) {
      await new FolderLedger(folder).putCommitted(new Map([[id(i), committed(i)]]));
      const answers = await Promise.all([1, 2, 3].map(async () => await ledger.lookup([id(i)])));
      expect(answers.map((answer) => answer.get(id(i)))).toEqual([committed(i), committed(i), committed(i)]);
    }
  });
});
