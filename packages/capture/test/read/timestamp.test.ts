import { expect, test } from "vitest";
import { Random, testSeed } from "../../../../test/support/random.ts";
import { Frame } from "../../src/read/frame.ts";
import { timestampResolution } from "../../src/read/timestamp.ts";

const seed = testSeed(20_241);

/** A count of ticks near the places where a quotient in floating point could be one off. */
function ticksNear(random: Random, perSecond: bigint): bigint {
  const any = ((BigInt(random.uint32()) << 32n) | BigInt(random.uint32())) >> BigInt(random.below(40));
  const ticks = random.chance(0.5) ? any : (any / perSecond) * perSecond + BigInt(random.between(-1, 1));
  return BigInt.asUintN(64, ticks < 0n ? 0n : ticks);
}

test.each([...Array(25).keys(), ...Array.from({ length: 64 }, (_, n) => 0x80 | n)])(
  `if_tsresol %i agrees with exact arithmetic (seed ${seed})`,
  (tsresol) => {
    const random = new Random(seed + tsresol);
    const exponent = BigInt(tsresol & 0x7f);
    const perSecond = (tsresol & 0x80) === 0 ? 10n ** exponent : 1n << exponent;
    const frame = new Frame();
    for (let i = 0; i < 500; i++) {
      const offset = random.chance(0.3) ? BigInt(random.uint32()) * BigInt(random.between(-60, 60)) : 0n;
      const ticks = ticksNear(random, perSecond);
      timestampResolution(tsresol, offset).setTime(frame, Number(ticks >> 32n), Number(ticks & 0xffffffffn));
      const seconds = ticks / perSecond + offset;
      const hasTime = seconds >= -2_208_988_800n && seconds < 10_413_792_000n;
      expect(frame.hasTime).toBe(hasTime);
      if (!hasTime) continue;
      expect(BigInt(frame.seconds)).toBe(seconds);
      expect(BigInt(frame.nanoseconds)).toBe(((ticks % perSecond) * 1_000_000_000n) / perSecond);
    }
  },
);
