import { expect, test } from "vitest";
import { giveBack } from "../../src/memory/give-back.ts";

/** Node since 21. */
const canFree = "transfer" in ArrayBuffer.prototype;

function lengthAfter(length: number): number {
  const array = new Int32Array(length);
  giveBack(array);
  return array.length;
}

test("a huge buffer is freed", () => {
  expect(lengthAfter(10_000_000)).toBe(0);
});

test.runIf(canFree)("a large buffer is freed where the runtime can do that at once", () => {
  expect(lengthAfter(100_000)).toBe(0);
});

test.runIf(!canFree)(
  "a large buffer is left to the collector where the runtime cannot free it at once",
  () => {
    expect(lengthAfter(100_000)).toBe(100_000);
  },
);

test("a small buffer is left to the collector", () => {
  expect(lengthAfter(100)).toBe(100);
});
