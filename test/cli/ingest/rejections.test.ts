import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { folderToExclude } from "../../../cli/ingest/rejections.ts";
import { deltacap } from "../../support/command-line.ts";
import { captureOf } from "../../support/tables/packets-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

let root: string;
let table: string;
beforeEach(() => {
  const folder = temporaryFolder();
  root = join(folder, "captures");
  table = join(folder, "table");
});

function write(path: string, content: Uint8Array | string): void {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), content);
}

function ingest(...options: readonly string[]) {
  return deltacap("ingest", root, "--table", table, ...options);
}

/** Each of its own content. */
function writeRejected(folder: string, files: number): void {
  for (let i = 0; i < files; i++)
    write(`${folder}/f${i}.js`, `${String(i).padStart(4, "0")} is not a capture`);
}

describe("rejections at the end of ingest", () => {
  test("20 of one kind are all named", async () => {
    writeRejected("car-1", 20);
    const { code, out } = await ingest();
    expect(code).toBe(1);
    expect(out.match(/^rejected {2}.*\.js at byte 0/gm)).toHaveLength(20);
    expect(out).not.toContain("more:");
  });

  test("of 21, three are named, the others counted, and the folder that may be left out is named", async () => {
    write("car-1/a.pcap", captureOf(3));
    writeRejected("car-1/node_modules/x", 21);
    const { code, out } = await ingest();
    expect(code).toBe(1);
    expect(out.match(/^rejected {2}.*\.js at byte 0/gm)).toHaveLength(3);
    expect(out).toContain("rejected  18 more: not a capture; run again with --json to name each\n");
    expect(out).toContain("--exclude '**/node_modules' leaves these out\n");
    expect(out).toContain(", 21 rejected,");
    const again = await ingest("--exclude", "**/node_modules");
    expect(again.code).toBe(0);
    expect(again.out).toContain(" 0 rejected,");
  });

  test("--json names each, however many", async () => {
    writeRejected("car-1", 21);
    const { code, out } = await ingest("--json");
    expect(code).toBe(1);
    const last = JSON.parse(out.trim().split("\n").at(-1) ?? "") as { rejected: unknown[] };
    expect(last.rejected).toHaveLength(21);
  });

  test("one rejection of another kind is named beside many of the first", async () => {
    writeRejected("car-1", 21);
    write("car-1/z.pcap", captureOf(1).subarray(0, 10));
    const { out } = await ingest();
    expect(out).toMatch(/^rejected {2}.*z\.pcap at byte/m);
  });
});

describe("the folder whose exclusion is advised", () => {
  const files = (folder: string, n: number) => Array.from({ length: n }, (_, i) => `/c/${folder}/${i}`);

  test.each<[string, string[], string[], string | null]>([
    ["the outermost of nested folders", files("car/modules/deep", 4), ["/c/car/a.pcap"], "modules"],
    ["none where a capture lies in it", files("car/modules", 4), ["/c/car/modules/a.pcap"], null],
    ["none where a capture has its name", files("modules", 4), ["/c/x/modules"], null],
    ["none with less than half", [...files("a", 2), ...files("b", 1), ...files("d", 2)], [], null],
    ["none with a name that a pattern or a shell reads otherwise", files("it's[1]", 4), [], null],
    ["none above PATH", ["/c/1", "/c/2"], [], null],
  ])("%s", (_, rejected, others, expected) => {
    expect(folderToExclude(rejected, others, ["/c"])).toBe(expected);
  });
});

describe("--include and --exclude", () => {
  beforeEach(() => {
    write("car-1/a.pcap", captureOf(1));
    write("car-1/sub/b.pcap", captureOf(2, undefined, 7));
    write("car-1/sub/c.PCAP", captureOf(3, undefined, 9));
    write("car-2/!odd(1).pcap", captureOf(4, undefined, 11));
    write("car-2/notes.txt", "text");
  });

  async function found(...options: readonly string[]): Promise<string[]> {
    const { out } = await ingest("--json", ...options);
    return out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { event?: string; capture?: string })
      .flatMap(({ capture }) =>
        capture === undefined ? [] : [decodeURI(capture).split("/captures/")[1] ?? ""],
      )
      .sort();
  }

  const odd = "car-2/!odd(1).pcap";
  test.each<[string[], string[]]>([
    [["--include", "*.pcap"], []],
    [
      ["--include", "**/*.pcap"],
      ["car-1/a.pcap", "car-1/sub/b.pcap", odd],
    ],
    [["--include", "car-1/*"], ["car-1/a.pcap"]],
    [
      ["--include", "car-1/*", "--include", "**/*.txt"],
      ["car-1/a.pcap", "car-2/notes.txt"],
    ],
    [
      ["--include", "**/?.{pcap,PCAP}"],
      ["car-1/a.pcap", "car-1/sub/b.pcap", "car-1/sub/c.PCAP"],
    ],
    [
      ["--include", "**/*.pcap", "--exclude", "**/sub"],
      ["car-1/a.pcap", odd],
    ],
    [["--exclude", "car-1/", "--exclude", "**/[m-o]*"], [odd]],
    [["--exclude", "./car-1/**", "--exclude", "**/*.txt"], [odd]],
    [["--include", "car-2/!odd(1).pcap"], [odd]],
    [
      ["--exclude", "!car-1"],
      ["car-1/a.pcap", "car-1/sub/b.pcap", "car-1/sub/c.PCAP", odd, "car-2/notes.txt"],
    ],
  ])("%j", async (options, expected) => {
    expect(await found(...options)).toEqual(expected);
  });

  test("a pattern that matches nothing is noted, and the exit code is 0", async () => {
    const { code, err } = await ingest("--include", "*.pcapp");
    expect(code).toBe(0);
    expect(err).toContain("--include and --exclude leave no file to ingest");
  });

  test.each(["", "/", "/abs/*", "../x", "a/[b"])("the pattern %j is refused as wrong use", async (glob) => {
    const { code, err } = await ingest("--exclude", glob);
    expect(err).toContain("--exclude");
    expect(code).toBe(2);
  });
});

test("the command that brings forgotten captures back keeps the patterns", async () => {
  write("car-1/a.pcap", captureOf(1));
  write("car-1/old/b.pcap", captureOf(2, undefined, 7));
  await ingest();
  await deltacap("forget", table, "--vehicle", "car-1");
  const { out } = await ingest("--include", "**/*.pcap", "--exclude", "**/old");
  expect(out).toContain(`retry --again ${root} --table ${table} --include '**/*.pcap' --exclude '**/old'\n`);
});
