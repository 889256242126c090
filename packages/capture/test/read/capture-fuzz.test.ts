import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { captureFixtures, mutated } from "../../../../test/support/captures/capture-fixtures.ts";
import { readPackets } from "../../../../test/support/captures/read-packets.ts";
import { Random, testSeed } from "../../../../test/support/random.ts";
import { CaptureReader } from "../../src/read/capture-reader.ts";

const MUTATIONS = 10_000;
const seed = testSeed(6_021);

test(`${MUTATIONS} mutated captures never throw, and packets before the mutation stay (DELTACAP_SEED=${seed})`, () => {
  const random = new Random(seed);
  const fixtures = captureFixtures().map(({ name, bytes }) => ({ name, bytes, ...originalOf(bytes) }));
  for (let i = 0; i < MUTATIONS; i++) {
    const fixture = random.pick(fixtures);
    const { bytes, first } = mutated(fixture.bytes, random);
    const chunkLength = random.pick([1, 7, 64, bytes.length]);
    const context = `mutation ${i} of ${fixture.name}, first byte changed: ${first}`;
    const { end, packets, reader } = readPackets(bytes, chunkLength);
    const kept = fixture.ends.filter((each) => each <= first).length;
    expect(isDeepStrictEqual(packets.slice(0, kept), fixture.packets.slice(0, kept)), context).toBe(true);
    expect(end.kind === "rejected" ? 0 : end.packets, context).toBe(packets.length);
    // No packet is smaller than 12 bytes, and no byte is copied more than a few times: no hang, no growth.
    expect(packets.length, context).toBeLessThanOrEqual(bytes.length / 12);
    expect(reader.copiedBytes, context).toBeLessThanOrEqual(3 * bytes.length);
    expect(reader.parses, context).toBeLessThanOrEqual(2 * bytes.length);
    if (end.kind !== "complete") {
      expect(end.offset, context).toBeLessThanOrEqual(bytes.length);
      expect(end.reason, context).not.toBe("");
    }
  }
});

/** The packets of an unchanged capture, and where each one's record ends. */
function originalOf(bytes: Uint8Array) {
  const ends: number[] = [];
  let at = 0;
  const reader = new CaptureReader(() => ends.push(at));
  for (at = 1; at <= bytes.length; at++) reader.push(bytes.subarray(at - 1, at));
  return { ends, packets: readPackets(bytes).packets };
}
