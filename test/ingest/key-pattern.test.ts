import { describe, expect, test } from "vitest";
import { KeyPattern } from "../../src/ingest/key-pattern.ts";
import { Random, testSeed } from "../support/random.ts";

describe("a key pattern tells the vehicle", () => {
  test.each([
    ["{vehicle_id}/**", "car7/2026/a.pcap", "car7"],
    ["{vehicle_id}/**", "car7/a.pcap", "car7"],
    // ** may stand for nothing at all, but not at the end: a file is no folder.
    ["{vehicle_id}/**", "a.pcap", null],
    ["{vehicle_id}/**", "car7/", "car7"],
    ["**/{vehicle_id}/**/a.pcap", "car7/a.pcap", "car7"],
    ["{vehicle_id}/**", "/a.pcap", null],
    ["captures/{vehicle_id}/*.pcap", "captures/car7/a.pcap", "car7"],
    ["captures/{vehicle_id}/*.pcap", "captures/car7/b/a.pcap", null],
    ["captures/{vehicle_id}/*.pcap", "other/car7/a.pcap", null],
    ["**/{vehicle_id}/*.pcap", "a/b/c/car 7/x.pcap", "car 7"],
    ["**/vehicle/{vehicle_id}/**", "eu/vehicle/vehicle/x", "vehicle"],
    ["{vehicle_id}", "car7", "car7"],
    ["{vehicle_id}", "car7/a", null],
    ["*/{vehicle_id}", "/car7", "car7"],
    ["a*b*c/{vehicle_id}", "a-b-b-c/v", "v"],
    ["a*b*c/{vehicle_id}", "abc/v", "v"],
    ["a*b*c/{vehicle_id}", "ab/v", null],
    ["aa*aa/{vehicle_id}", "aaa/v", null],
    ["x.pcap*/{vehicle_id}", "xapcap/v", null],
    ["{vehicle_id}/(a+)+$/**", "car7/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", null],
  ])("%s on %s: %s", (pattern, key, vehicle) => {
    expect(new KeyPattern(pattern).vehicleId(key)).toBe(vehicle);
  });

  test.each([
    ["", "empty"],
    ["captures/**", "{vehicle_id} 0 times"],
    ["{vehicle_id}/{vehicle_id}", "{vehicle_id} 2 times"],
    ["captures/a**/{vehicle_id}", 'segment "a**" at position 10'],
    ["captures/car-{vehicle_id}/**", 'segment "car-{vehicle_id}" at position 10'],
    ["{vehicle_id}/{date}", 'segment "{date}" at position 14'],
    ["{vehicle_id}//a", "a segment is empty"],
    ["/{vehicle_id}", "position 1"],
  ])("%s is refused, naming %s", (pattern, named) => {
    expect(() => new KeyPattern(pattern)).toThrow(named);
  });

  test("a hostile key is judged in time that grows with its length only", () => {
    const pattern = new KeyPattern("**/a/**/a/**/a/**/a*a*a*a*b/{vehicle_id}/x");
    // 2^40 steps if each ** were tried again for each other one.
    expect(pattern.vehicleId(`${"a/".repeat(400)}${"a".repeat(2_000)}`)).toBeNull();
  });

  const seed = testSeed(81);
  test(`agrees with trying every way to match (seed ${seed})`, () => {
    const random = new Random(seed);
    for (let i = 0; i < 3_000; i++) {
      const parts = Array.from({ length: random.between(1, 4) }, () =>
        random.pick(["a", "b", "*", "**", "a*", "*b"]),
      );
      parts[random.below(parts.length)] = "{vehicle_id}";
      const key = Array.from({ length: random.between(1, 5) }, () => random.pick(["a", "b", "ab", "", "v"]));
      const found = new KeyPattern(parts.join("/")).vehicleId(key.join("/"));
      const all = everyMatch(parts, key);
      if (found === null) expect([parts, key, all]).toEqual([parts, key, []]);
      else expect(all).toContain(found);
    }
  });
});

/** Vehicles of all ways in which the pattern's segments match the key's. */
function everyMatch(pattern: readonly string[], key: readonly string[]): string[] {
  const [first, ...rest] = pattern;
  if (first === undefined) return key.length === 0 ? [""] : [];
  if (first === "**") {
    if (rest.length === 0) return key.length === 0 ? [] : [""];
    return Array.from({ length: key.length + 1 }, (_, i) => everyMatch(rest, key.slice(i))).flat();
  }
  const [part, ...others] = key;
  if (part === undefined) return [];
  if (first === "{vehicle_id}") return part === "" ? [] : everyMatch(rest, others).map(() => part);
  const literal = new RegExp(`^${first.replaceAll("*", ".*")}$`);
  return literal.test(part) ? everyMatch(rest, others) : [];
}
