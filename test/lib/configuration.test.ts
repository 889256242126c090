import { readFileSync } from "node:fs";
import { App } from "aws-cdk-lib";
import { describe, expect, test } from "vitest";
import { configurationDefaults, type DeltacapConfiguration } from "../../lib/settings/configuration.ts";
import { checkConsistency } from "../../lib/settings/consistency.ts";
import { configurationFrom, givenIn } from "../../lib/settings/given-settings.ts";

const contradiction = (given: Partial<DeltacapConfiguration>) => () =>
  checkConsistency(configurationFrom(given));

test("nothing given is the defaults, and they do not contradict each other", () => {
  expect(configurationFrom({})).toEqual(configurationDefaults);
  expect(contradiction({})).not.toThrow();
});

test("texts of the command line are read as what the setting is", () => {
  const given = {
    batchSize: "500",
    vacuum: "true",
    optimize: "false",
    captureSuffixes: ".pcap,.pcapng",
    captureBucket: "captures",
  };
  expect(configurationFrom(given)).toEqual({
    ...configurationDefaults,
    batchSize: 500,
    vacuum: true,
    optimize: false,
    captureSuffixes: [".pcap", ".pcapng"],
    captureBucket: "captures",
  });
});

test("the context of the command line goes over that of cdk.json, setting by setting", () => {
  const context = { deltacap: { batchSize: 50, tablePrefix: "lake" }, "deltacap:batchSize": "60" };
  expect(givenIn(new App({ context }).node)).toEqual({ batchSize: "60", tablePrefix: "lake" });
});

test("every problem is named at once, with the value and what it may be", () => {
  expect(() => configurationFrom({ batchSise: 5, batchSize: 0, vacuum: "perhaps", logDays: 8 })).toThrow(
    /there is no setting batchSise: did you mean batchSize\?[\s\S]*vacuum is "perhaps": a boolean[\s\S]*batchSize is 0: from 1 to 10000[\s\S]*logDays is 8: one of 1, 3, 5/,
  );
});

test.each<[string, unknown]>([
  ["captureBucket", "Not_A_Bucket"],
  ["capturePrefix", "/upload"],
  ["captureSuffixes", [""]],
  ["captureSuffixes", [1]],
  ["captureKeyArn", "alias/key"],
  ["keyPattern", "**"],
  ["someipPorts", ["30490", "70000"]],
  ["doipPorts", "http"],
  ["keyPattern", "{vehicle_id}/{vehicle_id}"],
  ["tablePrefix", ""],
  ["tablePrefix", "lake//packets"],
  ["tablePrefix", "lake/"],
  ["tableScheme", "gs"],
  ["logStore", "none"],
  ["logTable", "a table"],
  ["key", "yes"],
  ["batchWindowSeconds", 301],
  ["converterConcurrency", 1],
  ["converterTimeoutSeconds", 901],
  ["committerMemory", 128],
  // Under 5 seconds Spark's OPTIMIZE starves.
  ["commitIntervalSeconds", 4],
  ["messageBytes", 1_048_577],
  ["ledgerDays", 0],
  ["batchSize", 1.5],
  ["batchSize", -1],
  ["alarmEmail", "nobody"],
  ["permissionsBoundary", "boundary"],
  ["vpcSubnetIds", ["vpc-0a1b2c3d"]],
  ["vpcSecurityGroupIds", ["default"]],
  // S3 takes a hundred notifications of a bucket, and each suffix needs two.
  ["captureSuffixes", Array.from({ length: 51 }, (_, n) => `.${n}`)],
])("%s may not be %j", (name, value) => {
  expect(() => configurationFrom({ [name]: value })).toThrow(name);
});

describe("refused before anything is deployed", () => {
  test("captures that expire while messages still name them", () => {
    expect(contradiction({ captureDays: 28, ledgerDays: 3_650 })).toThrow("captureDays is 28, but messages");
    expect(contradiction({ captureDays: 29, ledgerDays: 3_650 })).not.toThrow();
  });

  test("a ledger that forgets a capture which may be delivered again: its rows would come twice", () => {
    expect(contradiction({ captureDays: 60, ledgerDays: 88 })).toThrow("ledgerDays is 88");
    expect(contradiction({ captureDays: 60, ledgerDays: 89 })).not.toThrow();
    expect(contradiction({ ledgerDays: 28 })).toThrow("set it to 29");
  });

  test.each([
    ["", "packets"],
    ["pack", "packets"],
    ["packets/", "packets"],
    ["packets/raw/", "packets"],
    ["lake/", "lake/packets"],
  ])(
    "captures below %j and the table in %j of one bucket, with both named: each file of the table would be a capture",
    (capturePrefix, tablePrefix) => {
      const given = { captureBucket: "lake", tableBucket: "lake", capturePrefix, tablePrefix };
      const both = new RegExp(`s3://lake/${capturePrefix}\\).*s3://lake/${tablePrefix}/\\) overlap`);
      expect(contradiction(given)).toThrow(both);
      expect(contradiction({ ...given, tableBucket: "another" })).not.toThrow();
    },
  );

  test("captures beside the table in one bucket pass", () => {
    const given = {
      captureBucket: "lake",
      tableBucket: "lake",
      capturePrefix: "packets-raw/",
      tablePrefix: "packets",
    };
    expect(contradiction(given)).not.toThrow();
  });

  test("suffixes of which one ends in the other: S3 refuses such filters, after half of the stack is made", () => {
    expect(contradiction({ captureSuffixes: [".pcap.gz", ".gz"] })).toThrow(
      /"\.gz" and "\.pcap\.gz", which overlap/,
    );
    expect(contradiction({ captureSuffixes: [".gz", ".gz"] })).toThrow("overlap");
    expect(contradiction({ captureSuffixes: [".pcap", ".pcapng"] })).not.toThrow();
  });

  test("a batch that Lambda gathers only within a window, with both settings named", () => {
    const both =
      /batchSize is 11 and batchWindowSeconds is 0.*batchWindowSeconds to 1 or more, or batchSize to 10/;
    expect(contradiction({ batchSize: 11, batchWindowSeconds: 0 })).toThrow(both);
    expect(contradiction({ batchSize: 10, batchWindowSeconds: 0 })).not.toThrow();
    expect(contradiction({ batchSize: 10_000, batchWindowSeconds: 1 })).not.toThrow();
  });

  test("half of a place in a VPC", () => {
    const [vpcSubnetIds, vpcSecurityGroupIds] = [["subnet-0a1b2c3d"], ["sg-0a1b2c3d"]];
    expect(contradiction({ vpcSubnetIds })).toThrow("without vpcSecurityGroupIds");
    expect(contradiction({ vpcSecurityGroupIds })).toThrow("without vpcSubnetIds");
    expect(contradiction({ vpcSubnetIds, vpcSecurityGroupIds })).not.toThrow();
  });

  test("a log store's table where the log store uses none", () => {
    expect(contradiction({ logStore: "conditional", logTable: "delta-log" })).toThrow(
      "logTable is delta-log",
    );
  });

  test("keys of buckets that are not given", () => {
    const arn = "arn:aws:kms:eu-central-1:123456789012:key/a1";
    expect(contradiction({ captureKeyArn: arn })).toThrow("captureKeyArn is given");
    expect(contradiction({ tableKeyArn: arn })).toThrow("tableKeyArn is given");
  });
});

test("docs/deploy.md names every setting and its default", () => {
  const document = readFileSync("docs/deploy.md", "utf8");
  const rows = Object.entries(configurationDefaults).map(
    ([name, value]) => `| \`${name}\` | \`${JSON.stringify(value)}\` |`,
  );
  expect(rows.filter((row) => !document.includes(row))).toEqual([]);
});
