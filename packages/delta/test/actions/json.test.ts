import { describe, expect, test } from "vitest";
import { Random, testSeed } from "../../../../test/support/random.ts";
import { parseJson, stringifyJson } from "../../src/actions/json.ts";

describe("JSON with exact integers", () => {
  test.each<[string, unknown]>([
    ["9007199254740993", 9007199254740993n],
    ["-9223372036854775808", -(2n ** 63n)],
    ["9223372036854775807", 2n ** 63n - 1n],
    ["9007199254740991", 9007199254740991],
    ["[1, 9007199254740993 ,\t2]", [1, 9007199254740993n, 2]],
    [
      '{"a":{"b":12345678901234567},"c":"12345678901234567"}',
      { a: { b: 12345678901234567n }, c: "12345678901234567" },
    ],
    ['"\\u00e9 \\"12345678901234567\\" \\\\"', 'é "12345678901234567" \\'],
    [
      '[true, false, null, "", {}, [], 12345678901234567]',
      [true, false, null, "", {}, [], 12345678901234567n],
    ],
  ])("%s", (text, value) => {
    expect(parseJson(text)).toEqual(value);
    expect(parseJson(stringifyJson(value))).toEqual(value);
  });

  test.each(["", "{", "[1,]", "01", '{"a":12345678901234567', "12345678901234567 x"])(
    "%s is no JSON",
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );

  test("a member named __proto__ is a member", () => {
    const value = parseJson('{"__proto__":12345678901234567}') as object;
    expect(Object.keys(value)).toEqual(["__proto__"]);
    expect(stringifyJson(value)).toBe('{"__proto__":12345678901234567}');
  });

  test.each(["[", '{"a":', '[{"a":['])("nesting has no end but the memory's: 100,000 times %s", (opening) => {
    const closing = [...opening]
      .reverse()
      .map((char) => ({ "[": "]", "{": "}" })[char] ?? "")
      .join("");
    const text = `${opening.repeat(100_000)}[12345678901234567,{},[]]${closing.repeat(100_000)}`;
    expect(stringifyJson(parseJson(text))).toBe(text);
  });

  test("a number with a point or an exponent is a double, whatever its length", () => {
    expect(parseJson("[1234567890123456.5, 1e20]")).toEqual([1234567890123456.5, 1e20]);
  });

  test("members that are undefined are left out", () => {
    expect(stringifyJson({ a: undefined, b: [undefined], c: null })).toBe('{"b":[null],"c":null}');
  });

  const seed = testSeed(53);
  test(`what is written is read again, and JSON.parse reads the same where numbers are small (seed ${seed})`, () => {
    const random = new Random(seed);
    for (let i = 0; i < 2_000; i++) {
      const value = randomValue(random, 3);
      const text = stringifyJson(value);
      expect(parseJson(text)).toEqual(value);
      const forced = `[${text},12345678901234567]`;
      expect(parseJson(forced)).toEqual([value, 12345678901234567n]);
      if (!hasBigInt(value)) expect(JSON.parse(text)).toEqual(value);
    }
  });
});

function randomValue(random: Random, depth: number): unknown {
  switch (random.below(depth === 0 ? 5 : 7)) {
    case 0:
      return random.pick([null, true, false]);
    case 1:
      return random.uint32() - 2 ** 31;
    case 2:
      return (BigInt(random.uint32()) << 31n) + 2n ** 53n;
    case 3:
      return random.uint32() / 1000 + 0.0001;
    case 4:
      return random.pick(["", "a", '"', "\\", "\n", "é", "\u{1f600}", "{[,:", "12345678901234567890"]);
    case 5:
      return Array.from({ length: random.below(4) }, () => randomValue(random, depth - 1));
    default:
      return Object.fromEntries(
        Array.from({ length: random.below(4) }, (_, i) => [`k"${i}`, randomValue(random, depth - 1)]),
      );
  }
}

function hasBigInt(value: unknown): boolean {
  if (typeof value === "bigint") return true;
  return typeof value === "object" && value !== null && Object.values(value).some(hasBigInt);
}
