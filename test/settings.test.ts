import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { settingsFrom } from "../src/settings.ts";
import { deltacap } from "./support/command-line.ts";
import { captureOf } from "./support/tables/packets-world.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

test.each([
  ["tableScheme", "DELTACAP_TABLE_SCHEME", "s3n", "s3a or s3"],
  ["ledgerDays", "DELTACAP_LEDGER_DAYS", "0", "a whole number from 1 to 3650"],
  ["hashContent", "DELTACAP_HASH_CONTENT", "yes", "true or false"],
  ["captureBuckets", "DELTACAP_CAPTURE_BUCKETS", ",", "a list with commas"],
  ["keyPattern", "DELTACAP_KEY_PATTERN", "", "a text that is not empty"],
  ["doipPorts", "DELTACAP_DOIP_PORTS", "65536", "a list of ports from 0 to 65535, as 30490,30501,"],
] as const)(
  "setting %s, in %s, that is %j is refused with what it may be",
  (name, variable, value, allowed) => {
    const message = `the environment variable ${variable} is "${value}" (setting ${name}): ${allowed} is expected`;
    expect(() => settingsFrom([name], { [variable]: value })).toThrow(message);
    expect(() => settingsFrom([name], {})).toThrow(`${variable} is not set (setting ${name})`);
  },
);

describe("ports in the environment that are none", () => {
  afterEach(() => vi.unstubAllEnvs());

  test.each([
    ["inspect", "cars/car-1/a.pcap"],
    ["convert", "cars/car-1/a.pcap", "-o", "out.parquet"],
    ["ingest", "cars", "--table", "table"],
    ["ingest", "cars", "--table", "table", "--jobs", "2"],
  ])("are wrong use of %s: exit code 2, with variable, value and what is allowed", async (...argv) => {
    vi.stubEnv("DELTACAP_SOMEIP_PORTS", "30490;30501");
    const folder = temporaryFolder();
    const inFolder = (word: string) => (/^car|^table$|^out/.test(word) ? join(folder, word) : word);
    mkdirSync(join(folder, "cars", "car-1"), { recursive: true });
    writeFileSync(join(folder, "cars", "car-1", "a.pcap"), captureOf(2));
    const { code, out, err } = await deltacap(...argv.map(inFolder));
    expect([code, out]).toEqual([2, ""]);
    expect(err).toBe(
      `deltacap ${argv[0]}: the environment variable DELTACAP_SOMEIP_PORTS is "30490;30501": a list of ports from 0 to 65535, as 30490,30501, is expected\n`,
    );
    expect([existsSync(join(folder, "table")), existsSync(join(folder, "out.parquet"))]).toEqual([
      false,
      false,
    ]);
  });

  test("are nobody's concern where nothing is decoded", async () => {
    vi.stubEnv("DELTACAP_SOMEIP_PORTS", "30490;30501");
    expect(await deltacap("--help")).toMatchObject({ code: 0 });
    expect(await deltacap("log", temporaryFolder())).toMatchObject({
      code: 2,
      err: expect.stringContaining("is no Delta table"),
    });
  });
});
