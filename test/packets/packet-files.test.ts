import { PacketRecord } from "@deltacap/capture";
import type { RowGroup } from "@deltacap/parquet";
import { describe, expect, test } from "vitest";
import { type PacketFileLimits, PacketFiles, TooManyDatesError } from "../../src/packets/packet-files.ts";
import { fileColumns, packetTable } from "../../src/packets/packet-table.ts";
import { rowsOf } from "../support/tables/column-values.ts";

const wide: PacketFileLimits = {
  rows: 1000,
  frameBytes: 1 << 20,
  heldBytes: 1 << 24,
  fileBytes: 1 << 20,
  openDates: 4,
  datesPerCapture: 10,
};

/** What a file of the recorder takes for a row: large enough to count, and to split by. */
const ROW_BYTES = 100;

interface RecordedFile {
  readonly path: string;
  /** `capture packet_number` of each row, group by group. */
  readonly groups: string[][];
  state: "open" | "created" | "aborted";
}

/** `PacketFiles` on a store and a writer that only take notes. */
class Recorder {
  readonly files: RecordedFile[] = [];
  readonly packetFiles: PacketFiles;
  /** Part of the path of files whose writing fails. */
  failing: string | null = null;

  constructor(limits: Partial<PacketFileLimits> = {}) {
    this.packetFiles = new PacketFiles({
      batchId: "batch",
      limits: { ...wide, ...limits },
      hashSeed: 1,
      create: (path) => this.#create(path),
      parquet: (_columns, sink) => {
        const file = this.files.at(-1)!;
        return {
          write: async (group) => {
            if (this.failing !== null && file.path.includes(this.failing))
              throw new Error("the disk is full");
            file.groups.push(names(group));
            await sink(new Uint8Array(group.rows * ROW_BYTES));
            return [];
          },
          finish: async () => {},
          abort: async () => {},
        };
      },
    });
  }

  #create(path: string) {
    const file: RecordedFile = { path, groups: [], state: "open" };
    this.files.push(file);
    return {
      write: async () => {},
      commit: async () => {
        const exists = this.files.some((other) => other.path === path && other.state === "created");
        if (!exists) file.state = "created";
        return exists ? ("exists" as const) : ("created" as const);
      },
      abort: async () => {
        file.state = "aborted";
      },
    };
  }

  /** One packet a time of the list (days since 1970, null for none); room is made whenever it is needed. */
  async write(capture: string, days: readonly (number | null)[], bytes = 10): Promise<void> {
    this.packetFiles.begin({ capture, sourceId: capture, vehicleId: null, ingestedMs: 0 });
    for (const [i, day] of days.entries()) {
      this.packetFiles.append(packet(i + 1, day, bytes));
      if (this.packetFiles.full) await this.packetFiles.makeRoom();
    }
  }

  async kept(capture: string, days: readonly (number | null)[], bytes = 10): Promise<void> {
    await this.write(capture, days, bytes);
    await this.packetFiles.keep();
  }

  /** Rows of the files that the batch consists of, by path, and that the files tell the same of themselves. */
  async finished(): Promise<Record<string, string[]>> {
    const written = await this.packetFiles.finish();
    const content: Record<string, string[]> = {};
    for (const { path, rows, size, statistics } of written) {
      const file = this.files.find((candidate) => candidate.path === path);
      expect(file?.state, path).toBe("created");
      const held = file?.groups.flat() ?? [];
      expect({ rows, size }).toEqual({ rows: held.length, size: held.length * ROW_BYTES });
      expect(statistics).toHaveLength(fileColumns.length);
      content[path] = held;
    }
    expect(this.files.filter(({ state }) => state === "open")).toEqual([]);
    return content;
  }
}

function names(group: RowGroup): string[] {
  const columns = fileColumns.map(({ name }) => name);
  return rowsOf(group, columns).map((row) => `${row.capture} ${row.packet_number}`);
}

function packet(number: number, day: number | null, length: number): PacketRecord {
  const record = new PacketRecord();
  record.packetNumber = number;
  record.hasTime = day !== null;
  record.seconds = (day ?? 0) * 86_400;
  record.bytes = new Uint8Array(length);
  record.frameLength = length;
  return record;
}

const day = (count: number, of = 0): number[] => Array.from({ length: count }, () => of);
const packets = (capture: string, count: number, from = 1) =>
  Array.from({ length: count }, (_, i) => `${capture} ${from + i}`);

describe("captures that are kept", () => {
  test("share one file a date, in their order", async () => {
    const recorder = new Recorder();
    await recorder.kept("a", day(2));
    await recorder.kept("b", day(3));
    expect(await recorder.finished()).toEqual({
      "date=1970-01-01/batch-00000.parquet": [...packets("a", 2), ...packets("b", 3)],
    });
  });

  test("are split at midnight UTC, before 1970 too", async () => {
    const recorder = new Recorder();
    recorder.packetFiles.begin({ capture: "a", sourceId: "a", vehicleId: null, ingestedMs: 0 });
    for (const [i, seconds] of [86_399, 86_400, -1, 0].entries()) {
      recorder.packetFiles.append(Object.assign(packet(i + 1, 0, 1), { seconds, nanoseconds: 999_999_999 }));
    }
    await recorder.packetFiles.keep();
    expect(await recorder.finished()).toEqual({
      "date=1970-01-01/batch-00000.parquet": ["a 1", "a 4"],
      "date=1970-01-02/batch-00001.parquet": ["a 2"],
      "date=1969-12-31/batch-00002.parquet": ["a 3"],
    });
  });

  test("without a time go to the null partition, which the file's date says too", async () => {
    const recorder = new Recorder();
    await recorder.kept("a", [null, 1, null, 0, null]);
    const content = await recorder.finished();
    expect(content).toEqual({
      "date=__HIVE_DEFAULT_PARTITION__/batch-00000.parquet": ["a 1", "a 3", "a 5"],
      "date=1970-01-02/batch-00001.parquet": ["a 2"],
      "date=1970-01-01/batch-00002.parquet": ["a 4"],
    });
    const dates = (await recorder.packetFiles.finish()).map(({ date }) => date);
    expect(dates).toEqual([null, "1970-01-02", "1970-01-01"]);
  });

  test.each([
    ["0001-01-01", -719_162],
    ["9999-12-31", 2_932_896],
  ])("of the year's end %s have four digits of it", async (date, number) => {
    const recorder = new Recorder();
    await recorder.kept("a", [number]);
    expect(Object.keys(await recorder.finished())).toEqual([`date=${date}/batch-00000.parquet`]);
  });

  test("have no file where they have no packet", async () => {
    const recorder = new Recorder();
    await recorder.kept("a", []);
    expect(await recorder.finished()).toEqual({});
    expect(recorder.files).toEqual([]);
  });
});

describe("a capture that is taken back", () => {
  test("leaves nothing of itself, and the neighbours whole", async () => {
    const recorder = new Recorder();
    await recorder.kept("a", [0, 1]);
    await recorder.write("broken", [0, 1, 2]);
    await recorder.packetFiles.takeBack();
    await recorder.kept("b", [1, 0]);
    expect(await recorder.finished()).toEqual({
      "date=1970-01-01/batch-00000.parquet": ["a 1", "b 2"],
      "date=1970-01-02/batch-00001.parquet": ["a 2", "b 1"],
    });
  });

  test("gives its share of the limit back", async () => {
    const recorder = new Recorder({ rows: 10 });
    for (let i = 0; i < 5; i++) {
      await recorder.write("broken", day(9));
      expect(recorder.packetFiles.full).toBe(false);
      await recorder.packetFiles.takeBack();
    }
    await recorder.kept("a", day(9));
    expect(recorder.files).toEqual([]);
  });

  test("after rows left memory drops the files that it had of its own", async () => {
    const recorder = new Recorder({ rows: 4 });
    await recorder.kept("a", day(2));
    await recorder.write("broken", day(11));
    await recorder.packetFiles.takeBack();
    await recorder.kept("b", day(1));
    const content = await recorder.finished();
    expect(Object.values(content).flat()).toEqual([...packets("a", 2), "b 1"]);
    expect(recorder.files.map(({ state }) => state)).toEqual(["created", "aborted"]);
  });

  test("after files of its own were put names none of them", async () => {
    const recorder = new Recorder({ rows: 4, fileBytes: 4 * ROW_BYTES });
    await recorder.write("broken", day(9));
    await recorder.packetFiles.takeBack();
    await recorder.kept("a", day(2));
    expect(await recorder.finished()).toEqual({ "date=1970-01-01/batch-00002.parquet": packets("a", 2) });
    expect(recorder.files.map(({ state }) => state)).toEqual(["created", "created", "created"]);
  });

  test("after its date was closed leaves the neighbours' rows of that date", async () => {
    const recorder = new Recorder({ openDates: 1 });
    await recorder.kept("a", day(2));
    await recorder.write("broken", [0, 1, 2, 3]);
    await recorder.packetFiles.takeBack();
    await recorder.kept("b", day(1));
    expect(Object.values(await recorder.finished())).toEqual([packets("a", 2), ["b 1"]]);
  });
});

describe("limits", () => {
  test("no more rows than allowed are held, and row groups have at most so many", async () => {
    const recorder = new Recorder({ rows: 4 });
    await recorder.kept("a", day(3));
    await recorder.kept("b", [0, 0, 1, 1, 1, 0]);
    await recorder.kept("c", day(2));
    const content = await recorder.finished();
    expect(Object.values(content).flat().sort()).toEqual(
      [...packets("a", 3), ...packets("b", 6), ...packets("c", 2)].sort(),
    );
    for (const { groups } of recorder.files)
      for (const group of groups) expect(group.length).toBeLessThanOrEqual(4);
  });

  test("a capture that fits into memory gets no file of its own when neighbours must leave", async () => {
    const recorder = new Recorder({ rows: 4 });
    await recorder.kept("a", day(3));
    await recorder.kept("b", day(3));
    await recorder.kept("c", day(3));
    expect(await recorder.finished()).toEqual({
      "date=1970-01-01/batch-00000.parquet": [...packets("a", 3), ...packets("b", 3), ...packets("c", 3)],
    });
  });

  test("frames count by their bytes", async () => {
    const recorder = new Recorder({ frameBytes: 1000 });
    await recorder.kept("a", day(3), 400);
    expect(recorder.files.map(({ groups }) => groups)).toEqual([[packets("a", 3)]]);
  });

  test("comments count by their bytes: a thousand of 64 KiB are not held", async () => {
    const recorder = new Recorder({ rows: 100_000 });
    recorder.packetFiles.begin({ capture: "a", sourceId: "a", vehicleId: null, ingestedMs: 0 });
    let most = 0;
    let held = 0;
    for (let i = 1; i <= 1000; i++) {
      recorder.packetFiles.append(Object.assign(packet(i, 0, 1), { packetComment: `${i}`.padEnd(65_000) }));
      most = Math.max(most, ++held);
      if (!recorder.packetFiles.full) continue;
      await recorder.packetFiles.makeRoom();
      expect(recorder.packetFiles.full).toBe(false);
      held = 0;
    }
    expect(most * 65_000).toBeLessThanOrEqual(wide.frameBytes);
    await recorder.packetFiles.keep();
    expect(Object.values(await recorder.finished())).toEqual([packets("a", 1000)]);
  });

  test("new addresses of one capture after another are not held for ever", async () => {
    const recorder = new Recorder({ rows: 500, frameBytes: 100_000 });
    for (let capture = 0; capture < 20; capture++) {
      recorder.packetFiles.begin({
        capture: `${capture}`,
        sourceId: `${capture}`,
        vehicleId: null,
        ingestedMs: 0,
      });
      for (let i = 1; i <= 150; i++) {
        const record = packet(i, 0, 6);
        new DataView(record.bytes.buffer).setUint32(0, capture * 1000 + i);
        record.ethSrcOffset = 0;
        recorder.packetFiles.append(record);
        if (recorder.packetFiles.full) await recorder.packetFiles.makeRoom();
        expect(recorder.packetFiles.full).toBe(false);
      }
      await recorder.packetFiles.keep();
    }
    expect(Object.values(await recorder.finished()).flat()).toHaveLength(3000);
  });

  test("a packet of 1 MB on each of many dates: the memory of one is held, not that of every date", async () => {
    const recorder = new Recorder({ openDates: 8, heldBytes: 400_000, frameBytes: 300_000 });
    const bytes = 1_000_000;
    let most = 0;
    recorder.packetFiles.begin({ capture: "a", sourceId: "a", vehicleId: null, ingestedMs: 0 });
    for (let i = 1; i <= 16; i++) {
      recorder.packetFiles.append(packet(i, i % 8, bytes));
      most = Math.max(most, recorder.packetFiles.memory);
      expect(recorder.packetFiles.full).toBe(true);
      await recorder.packetFiles.makeRoom();
      expect(recorder.packetFiles.memory).toBeLessThanOrEqual(400_000);
    }
    expect(most).toBeLessThan(bytes + 500_000);
    await recorder.packetFiles.keep();
    expect(Object.values(await recorder.finished()).flat()).toHaveLength(16);
  });

  test("one date after another that fills a batch: the room for rows is not kept for each", async () => {
    const heldBytes = 3 << 20;
    const recorder = new Recorder({ openDates: 8, rows: 5000, heldBytes });
    for (let date = 0; date < 8; date++) {
      recorder.packetFiles.begin({
        capture: `${date}`,
        sourceId: `${date}`,
        vehicleId: null,
        ingestedMs: 0,
      });
      for (let i = 1; i <= 6000; i++) {
        recorder.packetFiles.append(packet(i, date, 10));
        if (recorder.packetFiles.full) await recorder.packetFiles.makeRoom();
      }
      expect(recorder.packetFiles.memory).toBeLessThanOrEqual(heldBytes);
      await recorder.packetFiles.keep();
    }
    expect(Object.values(await recorder.finished()).flat()).toHaveLength(8 * 6000);
  });

  test("a packet on each of 400 dates between two looks takes some 30 KB a date", async () => {
    const recorder = new Recorder({ datesPerCapture: 400 });
    recorder.packetFiles.begin({ capture: "a", sourceId: "a", vehicleId: null, ingestedMs: 0 });
    for (let i = 0; i < 400; i++) recorder.packetFiles.append(packet(i + 1, i, 100));
    expect(recorder.packetFiles.memory).toBeLessThan(400 * 30_000);
  });

  test("the date used longest ago is closed when there are too many", async () => {
    const recorder = new Recorder({ openDates: 2 });
    await recorder.kept("a", [0, 1, 0, 2]);
    expect(recorder.files.map(({ path, state }) => [path, state])).toEqual([
      ["date=1970-01-02/batch-00000.parquet", "created"],
    ]);
    await recorder.kept("b", [1]);
    expect(await recorder.finished()).toEqual({
      "date=1970-01-02/batch-00000.parquet": ["a 2"],
      "date=1970-01-01/batch-00001.parquet": ["a 1", "a 3"],
      "date=1970-01-03/batch-00002.parquet": ["a 4"],
      "date=1970-01-02/batch-00003.parquet": ["b 1"],
    });
  });

  test("a capture begun with the days it may have gives the other rows the null date, and counts them", async () => {
    const recorder = new Recorder({ datesPerCapture: 1 });
    recorder.packetFiles.begin(
      { capture: "a", sourceId: "a", vehicleId: null, ingestedMs: 0 },
      new Set([1, 2]),
    );
    [5, 1, 7, 2, 1, 5].forEach((day, i) => {
      recorder.packetFiles.append(packet(i + 1, day, 10));
    });
    expect(recorder.packetFiles.undated).toBe(3);
    await recorder.packetFiles.keep();
    await recorder.kept("b", [5]);
    expect(recorder.packetFiles.undated).toBe(0);
    expect(await recorder.finished()).toEqual({
      "date=__HIVE_DEFAULT_PARTITION__/batch-00000.parquet": ["a 1", "a 3", "a 6"],
      "date=1970-01-02/batch-00001.parquet": ["a 2", "a 5"],
      "date=1970-01-03/batch-00002.parquet": ["a 4"],
      "date=1970-01-06/batch-00003.parquet": ["b 1"],
    });
  });

  test("a capture on too many dates is an error of its own, after which it can be taken back", async () => {
    const recorder = new Recorder({ datesPerCapture: 3 });
    await recorder.kept("a", [0, 1, 2, 1, 0]);
    await expect(recorder.write("b", [5, 6, 7, 5, 8])).rejects.toThrow(TooManyDatesError);
    await recorder.packetFiles.takeBack();
    await recorder.kept("c", [8]);
    expect(
      Object.values(await recorder.finished())
        .flat()
        .sort(),
    ).toEqual([...packets("a", 5), "c 1"]);
  });

  test("a file that has its size gets no further row group", async () => {
    const recorder = new Recorder({ rows: 5, fileBytes: 10 * ROW_BYTES });
    await recorder.kept("a", day(23));
    expect(await recorder.finished()).toEqual({
      "date=1970-01-01/batch-00000.parquet": packets("a", 10),
      "date=1970-01-01/batch-00001.parquet": packets("a", 10, 11),
      "date=1970-01-01/batch-00002.parquet": packets("a", 3, 21),
    });
  });
});

test("a capture larger than memory between small ones keeps its rows once and in order", async () => {
  const recorder = new Recorder({ rows: 5 });
  await recorder.kept("a", day(3));
  await recorder.kept("large", day(17));
  await recorder.kept("b", day(3));
  const rows = Object.values(await recorder.finished()).flat();
  expect(rows.filter((row) => row.startsWith("large"))).toEqual(packets("large", 17));
  expect([...rows].sort()).toEqual([...packets("a", 3), ...packets("large", 17), ...packets("b", 3)].sort());
});

test("a batch id used twice is an error, not a file that is silently not there", async () => {
  const recorder = new Recorder();
  recorder.files.push({ path: "date=1970-01-01/batch-00000.parquet", groups: [], state: "created" });
  await recorder.kept("a", day(1));
  await expect(recorder.packetFiles.finish()).rejects.toThrow(/batch-00000\.parquet exists already/);
});

test("abort drops all open files after the writer failed", async () => {
  const recorder = new Recorder({ rows: 2 });
  await recorder.write("a", [0, 0, 1, 1, 2]);
  await recorder.packetFiles.keep();
  expect(recorder.files.map(({ state }) => state)).toEqual(["open", "open"]);
  recorder.failing = "date=1970-01-01";
  await expect(recorder.kept("c", [0, 0, 0])).rejects.toThrow("the disk is full");
  await recorder.packetFiles.abort();
  expect(recorder.files.map(({ state }) => state)).not.toContain("open");
});

test("the partition column is in no file", () => {
  expect(fileColumns.map(({ name }) => name)).toEqual(
    packetTable.columns.map(({ name }) => name).filter((name) => name !== "date"),
  );
});
