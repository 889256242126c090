import { linkSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RetryableError } from "@deltacap/delta";
import { expect, test } from "vitest";
import { UsageError } from "../../cli/terminal/command.ts";
import { Interruption } from "../../cli/terminal/interruption.ts";
import { writeOutput } from "../../cli/terminal/output-file.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const append = (output: string, input: string | null = null) =>
  writeOutput(output, input, new Interruption(), async (write) => await write(Buffer.from("new")));

function place() {
  const folder = temporaryFolder();
  const input = join(folder, "input");
  writeFileSync(input, "old");
  return { folder, input };
}

test("a file is made, and one that is there is replaced; nothing else is left in the folder", async () => {
  const { folder, input } = place();
  await append(join(folder, "output"));
  await append(join(folder, "output"), input);
  expect(readFileSync(join(folder, "output"), "utf8")).toBe("new");
  expect(readdirSync(folder).sort()).toEqual(["input", "output"]);
});

test.each<[string, (folder: string, input: string) => string]>([
  ["its own name", (_, input) => input],
  [
    "a hard link",
    (folder, input) => {
      linkSync(input, join(folder, "hard"));
      return join(folder, "hard");
    },
  ],
  [
    "a symbolic link",
    (folder, input) => {
      symlinkSync(input, join(folder, "soft"));
      return join(folder, "soft");
    },
  ],
  [
    "a linked folder",
    (folder) => {
      symlinkSync(folder, join(folder, "linked"));
      return join(folder, "linked", "input");
    },
  ],
])("the input is never written over, named by %s", async (_, output) => {
  const { folder, input } = place();
  await expect(append(output(folder, input), input)).rejects.toThrow(UsageError);
  expect(readFileSync(input, "utf8")).toBe("old");
});

test("files beside the output keep what they have, whatever they are called", async () => {
  const { folder } = place();
  const beside = join(folder, "output.unfinished");
  writeFileSync(beside, "old");
  await append(join(folder, "output"), beside);
  expect(readFileSync(beside, "utf8")).toBe("old");
});

test("a failure leaves what was there, and no unfinished file", async () => {
  const { folder, input } = place();
  const failing = writeOutput(input, null, new Interruption(), async (write) => {
    await write(Buffer.from("half"));
    throw new RetryableError("the other half");
  });
  await expect(failing).rejects.toThrow("the other half");
  expect(readFileSync(input, "utf8")).toBe("old");
  expect(readdirSync(folder)).toEqual(["input"]);
});

test("a link stays a link: the file behind it is replaced", async () => {
  const { folder, input } = place();
  symlinkSync(input, join(folder, "soft"));
  await append(join(folder, "soft"));
  expect(readFileSync(input, "utf8")).toBe("new");
});

test.each<[string, (folder: string) => string, string]>([
  ["a folder", (folder) => folder, "it is a folder"],
  ["a file in no folder", (folder) => join(folder, "none", "output"), "there is no folder"],
  ["a device", () => "/dev/null", "no file that can be replaced"],
])("%s as output is wrong use", async (_, output, message) => {
  const { folder } = place();
  await expect(append(output(folder))).rejects.toThrow(UsageError);
  await expect(append(output(folder))).rejects.toThrow(message);
});

test("what the system refuses is told with its reason", async () => {
  const output = join(place().folder, "x".repeat(300));
  await expect(append(output)).rejects.toThrow(RetryableError);
  await expect(append(output)).rejects.toThrow("ENAMETOOLONG");
});
