import { execFileSync } from "node:child_process";
import { appendFile, chmod, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { RetryableError } from "@deltacap/delta";
import { beforeEach, describe, expect, test } from "vitest";
import { GoneError, SupersededError } from "../../src/errors.ts";
import { KeyPattern } from "../../src/ingest/key-pattern.ts";
import {
  FileCaptureStore,
  fileSource,
  findFiles,
  type PassedOver,
} from "../../src/local/file-capture-store.ts";
import type { CaptureSource } from "../../src/manifest/capture-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const pattern = new KeyPattern("{vehicle_id}/**");
const store = new FileCaptureStore();
let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

async function put(key: string, text = key): Promise<string> {
  const path = join(folder, key);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, text);
  return path;
}

async function found(path: string, leaveOut = ""): Promise<string[]> {
  return (await walked(path, leaveOut)).keys;
}

async function walked(path: string, leaveOut = "") {
  const keys: string[] = [];
  const passedOver: string[] = [];
  const note = ({ path, reason }: PassedOver) => passedOver.push(`${relative(folder, path)}: ${reason}`);
  for await (const { key } of findFiles(path, leaveOut, note)) keys.push(key);
  return { keys, passedOver };
}

async function sourceOf(key: string): Promise<CaptureSource> {
  for await (const file of findFiles(folder, "", () => {}))
    if (file.key === key) return await fileSource(file, pattern);
  throw new Error(`${key} was not found`);
}

async function read(source: CaptureSource): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of store.open(source)) chunks.push(Uint8Array.from(chunk));
  return Buffer.concat(chunks).toString();
}

describe("files below a path", () => {
  test("are found in the order of their names, hidden ones and the table's folder left out", async () => {
    for (const key of ["b/2.pcap", "b/10.pcap", "a/x/y.pcap", ".hidden/z.pcap", "b/.tmp", "table/c.pcap"])
      await put(key);
    expect(await found(folder, join(folder, "table"))).toEqual(["a/x/y.pcap", "b/10.pcap", "b/2.pcap"]);
  });

  test.each([
    ["the folder itself", "data/table"],
    ["a link to it", "link"],
    ["a path through a link", "data-link/table"],
  ])("the table's folder is left out, named by %s", async (_, name) => {
    await put("data/a.pcap");
    await put("data/table/c.parquet");
    await symlink(join(folder, "data/table"), join(folder, "link"));
    await symlink(join(folder, "data"), join(folder, "data-link"));
    for (const path of ["data", "data-link"]) {
      expect(await found(join(folder, path), join(folder, name))).toEqual(["a.pcap"]);
    }
    expect(await found(join(folder, "data/table"), join(folder, name))).toEqual([]);
  });

  test("a file alone has its own name as key", async () => {
    expect(await found(await put("car7/a.pcap"))).toEqual(["a.pcap"]);
  });

  test("links to files are followed; links to folders, to nowhere and to themselves are named", async () => {
    await put("real/a.pcap");
    await symlink(join(folder, "real/a.pcap"), join(folder, "link.pcap"));
    await symlink(folder, join(folder, "real/loop"));
    await symlink(join(folder, "nowhere"), join(folder, "dangling"));
    await symlink("loop", join(folder, "loop"));
    expect(await walked(folder)).toEqual({
      keys: ["link.pcap", "real/a.pcap"],
      passedOver: [
        "dangling: a link to nowhere",
        expect.stringMatching(/^loop: cannot be read: ELOOP/),
        "real/loop: links to folders are not followed: name the folder itself",
      ],
    });
  });

  test("files and folders whose names are no UTF-8 are named, and cost nothing else", async () => {
    await put("a.pcap");
    const bad = (name: string) =>
      Buffer.concat([Buffer.from(`${folder}/b`), Buffer.from([0xe9]), Buffer.from(name)]);
    await writeFile(bad(".pcap"), "x");
    await mkdir(bad("-folder"));
    await put("c.pcap");
    const reason = "its name is no UTF-8, and the table's column capture is: rename it";
    expect(await walked(folder)).toEqual({
      keys: ["a.pcap", "c.pcap"],
      passedOver: [`b\ufffd-folder: ${reason}`, `b\ufffd.pcap: ${reason}`],
    });
  });

  test.skipIf(process.platform === "win32")("pipes and devices are named, found or given", async () => {
    execFileSync("mkfifo", [join(folder, "pipe.pcap")]);
    await put("q.pcap");
    const reason = "a pipe, and a file is needed: it is read twice";
    expect(await walked(folder)).toEqual({ keys: ["q.pcap"], passedOver: [`pipe.pcap: ${reason}`] });
    expect(await walked(join(folder, "pipe.pcap"))).toEqual({
      keys: [],
      passedOver: [`pipe.pcap: ${reason}`],
    });
    expect((await walked("/dev/null")).passedOver).toEqual([expect.stringContaining("a device")]);
  });

  test.skipIf(process.getuid?.() === 0)(
    "a folder that may not be read is named, and costs nothing else",
    async () => {
      await put("a.pcap");
      await put("shut/b.pcap");
      await put("z.pcap");
      await chmod(join(folder, "shut"), 0);
      const { keys, passedOver } = await walked(folder);
      await chmod(join(folder, "shut"), 0o700);
      expect(keys).toEqual(["a.pcap", "z.pcap"]);
      expect(passedOver).toEqual([expect.stringMatching(/^shut: cannot be read: EACCES/)]);
    },
  );

  test("a path that is not there is named", async () => {
    await expect(found(join(folder, "none"))).rejects.toThrow(RetryableError);
    await expect(found(join(folder, "none"))).rejects.toThrow(/none: ENOENT/);
  });
});

describe("a file as a source", () => {
  test("has its URL as key, percent-encoded, its content's SHA-256 as eTag, its vehicle from the key", async () => {
    const path = await put("car 7/a%b#c?d ü.pcap", "abc");
    expect(await sourceOf("car 7/a%b#c?d ü.pcap")).toEqual({
      capture: pathToFileURL(path).href,
      bucket: "",
      key: pathToFileURL(path).href,
      eTag: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      size: 3,
      vehicleId: "car 7",
    });
    expect(pathToFileURL(path).href).toMatch(/car%207\/a%25b%23c%3Fd%20%C3%BC\.pcap$/);
  });

  test("is read back whole, an empty one too", async () => {
    await put("car7/a.pcap", "x".repeat(3_000_000));
    await put("car7/empty.pcap", "");
    expect(await read(await sourceOf("car7/a.pcap"))).toHaveLength(3_000_000);
    expect(await read(await sourceOf("car7/empty.pcap"))).toBe("");
  });

  test.skipIf(process.platform === "win32")(
    "that a pipe took the place of fails at once, and may be tried again",
    async () => {
      const path = join(folder, "a.pcap");
      await writeFile(path, "1234");
      const found = { path, key: "a.pcap", size: 4 };
      const source = await fileSource(found, { vehicleId: () => null });
      await rm(path);
      execFileSync("mkfifo", [path]);
      const reading = (async () => {
        for await (const _ of new FileCaptureStore().open(source));
      })();
      await expect(reading).rejects.toThrow(RetryableError);
      await expect(reading).rejects.toThrow("is not a file any more");
      await expect(fileSource(found, { vehicleId: () => null })).rejects.toThrow(RetryableError);
    },
    5_000,
  );

  test.each<[string, (path: string) => Promise<void>, new () => Error]>([
    ["grown", async (path) => await appendFile(path, "more"), SupersededError],
    ["cut", async (path) => await writeFile(path, "orig"), SupersededError],
    ["changed at the same length", async (path) => await writeFile(path, "ORIGINAL"), SupersededError],
    ["gone", async (path) => await rm(path), GoneError],
  ])(
    "one that is %s since it was found is an error of its own, and no longer there",
    async (_, change, error) => {
      const path = await put("car7/a.pcap", "original");
      const source = await sourceOf("car7/a.pcap");
      expect(await store.exists(source)).toBe(true);
      await change(path);
      await expect(read(source)).rejects.toThrow(error);
      expect(await store.exists(source)).toBe(false);
    },
  );
});
