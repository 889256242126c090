import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { forEachLine, lineAt } from "../../src/local/file-lines.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const TEXT = "\none\n\ntwo is longer\nü\n3\nno end";

test.each([1, 2, 3, 5, 7, 16, 1_000])(
  "lines are whole, and lie where they are said to lie, in reads of %i bytes",
  async (size) => {
    const path = join(await temporaryFolder(), "lines");
    await writeFile(path, TEXT);
    const file = await open(path);
    const lines: string[] = [];
    const again: string[] = [];
    const offsets: number[] = [];
    const take = (bytes: Buffer, start: number, end: number, offset: number) => {
      lines.push(bytes.toString("utf8", start, end));
      offsets.push(offset);
    };
    const behind = await forEachLine(file, 0, Buffer.byteLength(TEXT), take, size);
    for (const offset of offsets) again.push(await lineAt(file, offset));
    await file.close();
    expect(lines).toEqual(["", "one", "", "two is longer", "ü", "3"]);
    expect(again).toEqual(lines);
    expect(behind).toBe(Buffer.byteLength(TEXT) - "no end".length);
  },
);

test("a line longer than 1 MiB is passed over, and the one behind it is read", async () => {
  const path = join(await temporaryFolder(), "lines");
  const long = "x".repeat(3 * 1024 * 1024);
  await writeFile(path, `a\n${long}\nb\n`);
  const file = await open(path);
  const lines: string[] = [];
  await forEachLine(
    file,
    0,
    long.length + 5,
    (bytes, start, end) => void lines.push(bytes.toString("utf8", start, end)),
    64 * 1024,
  );
  await file.close();
  expect(lines).toEqual(["a", "b"]);
});
