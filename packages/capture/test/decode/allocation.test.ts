import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { frameOf } from "../../../../test/support/captures/decode-rows.ts";
import { ethernet } from "../../../../test/support/captures/frame-builder.ts";
import { Traffic, vehicleMix } from "../../../../test/support/captures/traffic.ts";
import { tecmp, tecmpCan, tecmpRecord } from "../../../../test/support/captures/vehicle-frame-builder.ts";
import { PacketDecoder } from "../../src/decode/packet-decoder.ts";

const WARM_UP_ROUNDS = 400;
/** So few packets that even small objects fit into the young generation: a collection in between would hide them. */
const ROUNDS = 20;
/** The test runner allocates too, now and then: the quietest measurement counts. */
const MEASUREMENTS = 10;
/** The smallest object has 12 bytes. */
const BYTES_PER_PACKET = 1;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test("decoding a vehicle's packets, a capture module's among them, allocates nothing for a packet", () => {
  const traffic = new Traffic(1, vehicleMix);
  const frames = Array.from({ length: 500 }, () => {
    const { bytes, linkType } = traffic.next();
    return frameOf(bytes.slice(), { linkType });
  });
  const can = tecmpRecord({}, tecmpCan(0x123, new Uint8Array(8)));
  frames.push(frameOf(ethernet(0x99fe, tecmp({ dataType: 2 }, can, can, can))));
  let rows = 0;
  const decoder = new PacketDecoder(() => {
    rows++;
  });
  const decodeAll = (rounds: number) => {
    for (let round = 0; round < rounds; round++) for (const frame of frames) decoder.decode(frame);
  };
  decodeAll(WARM_UP_ROUNDS);
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < MEASUREMENTS; i++) {
    collectGarbage();
    const before = getHeapStatistics().used_heap_size;
    decodeAll(ROUNDS);
    least = Math.min(least, getHeapStatistics().used_heap_size - before);
  }
  expect(rows).toBe((WARM_UP_ROUNDS + MEASUREMENTS * ROUNDS) * (frames.length + 3));
  expect(least / (ROUNDS * frames.length)).toBeLessThan(BYTES_PER_PACKET);
});
