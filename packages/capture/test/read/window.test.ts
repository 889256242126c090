import { expect, test } from "vitest";
import { Window } from "../../src/read/window.ts";

const RECORD = 8_000_000;
const CHUNK = 65_536;

test("the buffer of a record of 8 MB grows to that and is given back with the record, also where the next one follows", () => {
  const window = new Window();
  const lengths: number[] = [];
  // Records of RECORD bytes, then short ones of 10.
  const parse = () => {
    for (;;) {
      const length = lengths.length < 2 ? RECORD : 10;
      if (!window.has(length)) return true;
      expect(window.bytes[window.start]).toBe(lengths.length + 1);
      window.start += length;
      lengths.push(length);
    }
  };
  const stream = new Uint8Array(2 * RECORD + 30);
  [0, RECORD, 2 * RECORD, 2 * RECORD + 10, 2 * RECORD + 20].forEach((at, i) => {
    stream[at] = i + 1;
  });
  let most = 0;
  for (let at = 0; at < stream.length; at += CHUNK) {
    const before = lengths.length;
    window.push(stream.slice(at, at + CHUNK), parse);
    most = Math.max(most, window.heldCapacity);
    if (lengths.length > before) expect(window.heldCapacity).toBeLessThan(3 * CHUNK);
  }
  expect(most).toBe(RECORD);
  expect(lengths).toEqual([RECORD, RECORD, 10, 10, 10]);
  window.finish(parse);
  expect(window.positionOf(window.start)).toBe(stream.length);
});

test("a cut record of 8 MB is counted from its beginning", () => {
  const window = new Window();
  const parse = () => {
    if (window.has(RECORD)) window.start += RECORD;
    return true;
  };
  for (let at = 0; at < RECORD + CHUNK; at += CHUNK) window.push(new Uint8Array(CHUNK), parse);
  window.finish(parse);
  expect(window.positionOf(window.start)).toBe(RECORD);
  expect(window.end - window.start).toBe(Math.ceil((RECORD + CHUNK) / CHUNK) * CHUNK - RECORD);
});
