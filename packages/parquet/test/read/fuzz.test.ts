import { expect, test } from "vitest";
import { fuzzParquet } from "../../../../test/support/parquet-fuzz/run.ts";
import { testSeed } from "../../../../test/support/random.ts";

const seed = testSeed(12);
const inputs = Number(process.env.DELTACAP_FUZZ_PARQUET ?? 1500);

test(`${inputs} mutated checkpoints and data files are read or refused: no hang, no stray rejection (seed ${seed})`, async () => {
  const { figures, faults } = await fuzzParquet(seed, inputs);
  expect(faults).toEqual([]);
  expect(figures?.refused).toBeGreaterThan(inputs / 4);
  expect(figures?.read).toBeGreaterThan(0);
  expect(figures?.commands).toBeGreaterThan(0);
}, 900_000);
