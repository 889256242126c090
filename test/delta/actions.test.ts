import { describe, expect, test } from "vitest";
import { parseActions, serializeActions } from "../../src/delta/actions.ts";
import { TableRefusedError } from "../../src/errors.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("actions of a commit", () => {
  test("are read line by line, whatever else is there", () => {
    const actions = parseActions(
      bytes(
        [
          '{"commitInfo":{"operation":"STREAMING UPDATE","tags":{"a":"b"}}}',
          '{"txn":{"appId":"s","version":9223372036854775807,"lastUpdated":null}}',
          '{"domainMetadata":{"domain":"d","configuration":"","removed":false}}',
          "",
          '{"add":null,"remove":{"path":"a","deletionTimestamp":1,"dataChange":true}}\r',
          '{"cdc":{"path":"c"}}',
        ].join("\n"),
      ),
      "0.json",
    );
    expect(actions).toEqual([
      { commitInfo: { operation: "STREAMING UPDATE", tags: { a: "b" } } },
      { txn: { appId: "s", version: 2n ** 63n - 1n, lastUpdated: null } },
      { domainMetadata: { domain: "d", configuration: "", removed: false } },
      { remove: { path: "a", deletionTimestamp: 1, dataChange: true } },
      {},
    ]);
  });

  test.each<[string, string, string]>([
    [
      "a torn line",
      '{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}\n{"add":{"pa',
      "line 2 of 7.json",
    ],
    ["a line that is a number", "5", "line 1 of 7.json in the log is no action: 5"],
    ["a line that is null", "null", "is no action"],
    ["an add without a path", '{"add":{"partitionValues":{},"size":1}}', "add.path is null"],
    ["a size as text", '{"add":{"path":"a","partitionValues":{},"size":"1"}}', 'add.size is "1"'],
    [
      "a version as text",
      '{"protocol":{"minReaderVersion":"1","minWriterVersion":2}}',
      "protocol.minReaderVersion",
    ],
    [
      "columns that are no array",
      '{"metaData":{"id":"i","schemaString":"","partitionColumns":{}}}',
      "partitionColumns",
    ],
  ])("%s refuses the table, naming the place", (_, text, named) => {
    expect(() => parseActions(bytes(text), "7.json")).toThrow(TableRefusedError);
    expect(() => parseActions(bytes(text), "7.json")).toThrow(named);
  });

  test("bytes that are no UTF-8 refuse the table", () => {
    expect(() => parseActions(Uint8Array.of(0x7b, 0xff, 0x7d), "7.json")).toThrow(TableRefusedError);
  });

  test("are written one a line, with exact numbers", () => {
    const body = serializeActions([
      { txn: { appId: "a", version: 2n ** 60n } },
      { commitInfo: { txnId: "t" } },
    ]);
    expect(new TextDecoder().decode(body)).toBe(
      '{"txn":{"appId":"a","version":1152921504606846976}}\n{"commitInfo":{"txnId":"t"}}\n',
    );
  });
});
