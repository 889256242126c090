import { BlockList } from "node:net";
import { expect, test } from "vitest";
import { Random, testSeed } from "../../../../test/support/random.ts";
import { ipv4Text, ipv6Text, macText } from "../../src/columns/address-text.ts";

const seed = testSeed(5952);
const ADDRESSES = 5000;

/** The 16 bytes of eight groups, behind bytes that are no part of the address. */
function ipv6Of(groups: readonly number[]): string {
  const bytes = new Uint8Array(3 + 16 + 3).fill(0xff);
  groups.forEach((group, i) => {
    bytes[3 + 2 * i] = group >> 8;
    bytes[4 + 2 * i] = group & 0xff;
  });
  return ipv6Text(bytes, 3);
}

function expanded(groups: readonly number[]): string {
  return groups.map((group) => group.toString(16).padStart(4, "0")).join(":");
}

/** Many zero groups, as addresses have, and groups with leading zeros. */
function randomGroups(random: Random): number[] {
  const zeros = random.below(9) / 8;
  return Array.from({ length: 8 }, () =>
    random.chance(zeros) ? 0 : random.uint32() >>> random.pick([16, 20, 24, 28]),
  );
}

test.each([
  ["4.1: no leading zeros", [0x2001, 0xdb8, 1, 2, 3, 4, 5, 6], "2001:db8:1:2:3:4:5:6"],
  ["4.2.1: all of the longest run", [0x2001, 0xdb8, 0, 0, 0, 0, 2, 1], "2001:db8::2:1"],
  ["4.2.2: one zero group is not shortened", [0x2001, 0xdb8, 0, 1, 1, 1, 1, 1], "2001:db8:0:1:1:1:1:1"],
  ["4.2.3: the longer of two runs", [0x2001, 0, 0, 1, 0, 0, 0, 1], "2001:0:0:1::1"],
  ["4.2.3: the first of two equal runs", [0x2001, 0xdb8, 0, 0, 1, 0, 0, 1], "2001:db8::1:0:0:1"],
  ["4.3: lower case", [0xabcd, 0xef01, 1, 1, 1, 1, 1, 1], "abcd:ef01:1:1:1:1:1:1"],
  [
    "5: an IPv4-mapped address ends in dotted decimal",
    [0, 0, 0, 0, 0, 0xffff, 0xc000, 0x2ff],
    "::ffff:192.0.2.255",
  ],
  ["a run at the end", [0xfe80, 0, 0, 0, 0, 0, 0, 0], "fe80::"],
  ["a run at the beginning", [0, 0, 0, 0, 0, 0, 0, 1], "::1"],
  ["the unspecified address", [0, 0, 0, 0, 0, 0, 0, 0], "::"],
  ["almost IPv4-mapped", [0, 0, 0, 0, 1, 0xffff, 0, 1], "::1:ffff:0:1"],
])("RFC 5952 section %s", (_, groups, text) => {
  expect(ipv6Of(groups)).toBe(text);
});

test(`IPv6 addresses are written as URLs write them, but for IPv4-mapped ones (seed ${seed})`, () => {
  const random = new Random(seed);
  for (let i = 0; i < ADDRESSES; i++) {
    const groups = randomGroups(random);
    if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) continue;
    const { hostname } = new URL(`http://[${expanded(groups)}]/`);
    expect(`[${ipv6Of(groups)}]`, expanded(groups)).toBe(hostname);
  }
});

test(`node:net reads each text as the address that was written (seed ${seed})`, () => {
  const random = new Random(seed);
  for (let i = 0; i < ADDRESSES / 10; i++) {
    const groups = random.chance(0.2)
      ? [0, 0, 0, 0, 0, 0xffff, random.below(65_536), random.below(65_536)]
      : randomGroups(random);
    const only = new BlockList();
    only.addAddress(expanded(groups), "ipv6");
    expect(only.check(ipv6Of(groups), "ipv6"), expanded(groups)).toBe(true);
  }
});

test("IPv4 addresses are unsigned: the upper half has no minus signs", () => {
  expect([0, 1, 0x7fff_ffff, 0x8000_0000, 0xc000_02c8, 0xffff_ffff].map(ipv4Text)).toEqual([
    "0.0.0.0",
    "0.0.0.1",
    "127.255.255.255",
    "128.0.0.0",
    "192.0.2.200",
    "255.255.255.255",
  ]);
});

test("MAC addresses keep their leading zeros and are lower case", () => {
  expect(macText(Uint8Array.of(0xff, 0x00, 0x0a, 0xb0, 0xcd, 0x01, 0xef), 1)).toBe("00:0a:b0:cd:01:ef");
});
