import { describe, expect, test } from "vitest";
import { parseActions, serializeActions } from "../../src/actions/actions.ts";
import { TableRefusedError } from "../../src/errors.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

const metaData = (fields: string) =>
  `{"metaData":{"id":"i","schemaString":"","partitionColumns":[],"configuration":{},"format":{},${fields}}}`;
const add = (fields: string) => `{"add":{"path":"a","partitionValues":{},"size":1,${fields}}}`;
const remove = (fields: string) => `{"remove":{"path":"a",${fields}}}`;

/** Actions with one field of a wrong type, and what must be said of it. */
const malformed: readonly [action: string, problem: string][] = [
  ['{"add":5}', "add is 5, and must be an object"],
  ['{"protocol":[]}', "protocol is a list, and must be an object"],
  [
    '{"protocol":{"minReaderVersion":1.5,"minWriterVersion":2}}',
    "minReaderVersion is 1.5, and must be a whole",
  ],
  [
    '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":5}}',
    "readerFeatures is 5, and must be a list",
  ],
  [
    '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"writerFeatures":["a",{}]}}',
    "writerFeatures[1] is an object, and must be text",
  ],
  [metaData('"partitionColumns":{}'), "metaData.partitionColumns is an object, and must be a list of texts"],
  [metaData('"partitionColumns":[null]'), "metaData.partitionColumns[0] is null, and must be text"],
  [
    metaData('"configuration":{"delta.appendOnly":true}'),
    "metaData.configuration.delta.appendOnly is true, and must be text or null",
  ],
  [metaData('"format":{"options":7}'), "metaData.format.options is 7, and must be an object of texts"],
  [
    metaData('"createdTime":9223372036854775808'),
    "metaData.createdTime is 9223372036854775808, and must be a whole number of 64 bits",
  ],
  [metaData('"name":"\\ud800"'), 'metaData.name is "\\ud800", and must be text'],
  [add('"size":1.5'), "add.size is 1.5, and must be a number of bytes"],
  [add('"size":-1'), "add.size is -1"],
  [add('"size":9007199254740993'), "add.size is 9007199254740993"],
  [add('"modificationTime":"x"'), 'add.modificationTime is "x", and must be milliseconds'],
  [add('"stats":{}'), "add.stats is an object, and must be text"],
  [add('"partitionValues":{"date":5}'), "add.partitionValues.date is 5, and must be text or null"],
  [add('"partitionValues":"x"'), 'add.partitionValues is "x"'],
  [add('"tags":{"a":[]}'), "add.tags.a is a list"],
  [add('"baseRowId":1e400'), "add.baseRowId is null, and must be a whole number of 64 bits"],
  [add('"deletionVector":5'), "add.deletionVector is 5, and must be an object"],
  [add('"deletionVector":{"storageType":7}'), "add.deletionVector.storageType is 7, and must be text"],
  [
    add('"deletionVector":{"storageType":"u","pathOrInlineDv":"x","sizeInBytes":2147483648}'),
    "add.deletionVector.sizeInBytes is 2147483648, and must be a whole number of 32 bits",
  ],
  [
    add('"deletionVector":{"storageType":"u","pathOrInlineDv":"x","cardinality":99999999999999999999}'),
    "add.deletionVector.cardinality is 99999999999999999999",
  ],
  [remove('"deletionTimestamp":"x"'), 'remove.deletionTimestamp is "x", and must be milliseconds since 1970'],
  [remove('"deletionTimestamp":9999999999999999999'), "remove.deletionTimestamp is 9999999999999999999"],
  [
    remove('"extendedFileMetadata":"true"'),
    'remove.extendedFileMetadata is "true", and must be true or false',
  ],
  [remove('"size":{}'), "remove.size is an object"],
  ['{"txn":{"appId":"a","version":"1"}}', 'txn.version is "1"'],
  ['{"sidecar":{"path":"a","sizeInBytes":"5"}}', 'sidecar.sizeInBytes is "5"'],
];

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
      { txn: { appId: "s", version: 2n ** 63n - 1n } },
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
    [
      "an add without a path",
      '{"add":{"partitionValues":{},"size":1}}',
      "add.path is missing, and must be text",
    ],
    ["a size as text", '{"add":{"path":"a","partitionValues":{},"size":"1"}}', 'add.size is "1"'],
    [
      "a version as text",
      '{"protocol":{"minReaderVersion":"1","minWriterVersion":2}}',
      "protocol.minReaderVersion",
    ],
    ...malformed.map(([action, problem]): [string, string, string] => [action, action, problem]),
  ])("%s refuses the table, naming the place", (_, text, named) => {
    expect(() => parseActions(bytes(text), "7.json")).toThrow(TableRefusedError);
    expect(() => parseActions(bytes(text), "7.json")).toThrow(named);
  });

  test("nulls stand for what is absent, but in partition values", () => {
    const text =
      '{"add":{"path":"a","partitionValues":{"date":null},"size":1,"stats":null,"deletionVector":null,"tags":null}}';
    expect(parseActions(bytes(text), "7.json")).toEqual([
      { add: { path: "a", partitionValues: { date: null }, size: 1 } },
    ]);
  });

  test("a property that is null is unset", () => {
    const [action] = parseActions(bytes(metaData('"configuration":{"a":null,"b":"c"}')), "7.json");
    expect(action?.metaData?.configuration).toEqual({ b: "c" });
  });

  test("a commitInfo never refuses a table: what is of another type than it should is left out", () => {
    const info = (fields: string) =>
      parseActions(bytes(`{"commitInfo":{${fields}}}`), "7.json")[0]?.commitInfo;
    for (const timestamp of ['"x"', "9e18", "99999999999999999999", "{}", "1e400"]) {
      expect(info(`"timestamp":${timestamp},"operation":"WRITE"`)).toEqual({ operation: "WRITE" });
    }
    expect(info('"operation":{},"engineInfo":[],"txnId":7,"tags":"x","userMetadata":5')).toEqual({
      userMetadata: 5,
    });
    expect(info('"timestamp":8640000000000000,"tags":{"a":1}')).toEqual({
      timestamp: 8.64e15,
      tags: { a: 1 },
    });
  });

  test("what is nested deeper than can be written is named without it", () => {
    const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    expect(() => parseActions(bytes(add(`"size":${deep}`)), "7.json")).toThrow("add.size is a list");
    expect(() => parseActions(bytes(deep), "7.json")).toThrow("is no action: a list");
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
