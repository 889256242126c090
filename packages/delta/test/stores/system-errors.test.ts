import { expect, test } from "vitest";
import { RetryableError } from "../../src/errors.ts";
import { translated } from "../../src/stores/folder/system-errors.ts";

const system = (code: string) => Object.assign(new Error(code), { code });

test.each([
  ["ENOSPC", "the disk is full: make room"],
  ["EDQUOT", "quota"],
  ["EACCES", "permission is missing"],
  ["EROFS", "read-only"],
  ["EMFILE", "too many files are open"],
  ["EIO", "look at the file system"],
])("%s is to be tried again, with advice", (code, advice) => {
  const error = translated(system(code), "cannot put a");
  expect(error).toBeInstanceOf(RetryableError);
  expect((error as Error).message).toContain(`cannot put a: ${code}; `);
  expect((error as Error).message).toContain(advice);
});

test("bugs, and errors that are translated already, stay as they are", () => {
  for (const error of [new TypeError("x"), system("ERR_INVALID_ARG_TYPE"), new RetryableError("x"), "text"]) {
    expect(translated(error, "w")).toBe(error);
  }
});
