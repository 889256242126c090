import { describe, expect, test } from "vitest";
import { isAbsolutePath, objectPath } from "../../src/actions/object-path.ts";
import { TableRefusedError } from "../../src/errors.ts";

describe("a path of the log", () => {
  test.each([
    ["date=2026-01-02/a.parquet", "date=2026-01-02/a.parquet"],
    ["date%3D2026-01-02/a%20b.parquet", "date=2026-01-02/a b.parquet"],
    ["a%2520b", "a%20b"],
    [".hidden/..a/b..", ".hidden/..a/b.."],
    ["date=x%3Ay/z", "date=x:y/z"],
  ])("%s is the object %s", (path, object) => {
    expect(objectPath(path)).toBe(object);
  });

  test.each([
    "./date=2026-01-02/a",
    "date=2026-01-02/./a",
    "x/../date=2026-01-02/a",
    "../table/date=2026-01-02/a",
    "..",
    "date=2026-01-02//a",
    "date=2026-01-02/a/",
    "",
    "%2e/a",
    "a/%2E%2e/b",
    "a%2F/b",
    "%2Fa",
    "a%00b",
  ])("%s is not plain, and refused by name", (path) => {
    expect(() => objectPath(path)).toThrow(TableRefusedError);
    expect(() => objectPath(path)).toThrow(`names the file ${path}, which is not the plain path`);
  });

  test.each(["/date=2026-01-02/a", "//host/a", "s3://bucket/table/a", "file:/table/a", "S3A://b/a", "c:\\a"])(
    "%s is absolute, and refused as such",
    (path) => {
      expect(isAbsolutePath(path)).toBe(true);
      expect(() => objectPath(path)).toThrow(TableRefusedError);
      expect(() => objectPath(path)).toThrow(`names the file ${path}, by its absolute path`);
    },
  );

  test("one that is not encoded is refused by name, and a very long one cut", () => {
    expect(() => objectPath("100%/a")).toThrow("names the file 100%/a, which is no percent-encoded path");
    expect(() => objectPath(`../${"x".repeat(5_000)}`)).toThrow(/names the file \.\.\/x{197}\.\.\., which/);
  });
});
