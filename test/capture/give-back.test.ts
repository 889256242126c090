import { describe, expect, test } from "vitest";
import { giveBack } from "../../src/capture/give-back.ts";

const canFree = "transfer" in ArrayBuffer.prototype;

describe.runIf(canFree)("where the runtime can free a buffer at once (Node since 21)", () => {
  test("a large one is freed", () => {
    const array = new Int32Array(100_000);
    giveBack(array);
    expect(array.length).toBe(0);
  });

  test("a small one is left to the collector", () => {
    const array = new Int32Array(100);
    giveBack(array);
    expect(array.length).toBe(100);
  });
});

test.runIf(!canFree)("where it cannot, nothing happens", () => {
  const array = new Int32Array(100_000);
  giveBack(array);
  expect(array.length).toBe(100_000);
});
