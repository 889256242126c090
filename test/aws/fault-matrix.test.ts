import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { documentedOutcomes } from "../../docs/write-reliability.ts";
import { runMatrix } from "../support/aws/fault-matrix.ts";
import { faultColumns } from "../support/aws/matrix-faults.ts";
import { workloads } from "../support/aws/matrix-workloads.ts";
import { Random } from "../support/random.ts";

/** All cells take minutes. Without `DELTACAP_FAULT_MATRIX=all`, as in `npm test`, one in so many is run. */
const SAMPLE = process.env.DELTACAP_FAULT_MATRIX === "all" ? 1 : 10;

const text = readFileSync(new URL("../../docs/reliability.md", import.meta.url), "utf8");
const documented = documentedOutcomes(text);

test("docs/reliability.md has a cell for each function, request and fault, and no other", () => {
  const cells = workloads.flatMap(({ name, kinds }) =>
    kinds.flatMap(({ request }) => faultColumns.map(({ fault }) => `${name}: ${request}: ${fault}`)),
  );
  expect([...documented.keys()].sort()).toEqual(cells.sort());
});

test("a faulty run ends as docs/reliability.md says, and after a clean run every packet is one row", {
  timeout: 900_000,
}, async () => {
  const seed = Number(process.env.DELTACAP_SEED ?? Date.now() % 100_000);
  console.log(`seed ${seed}, one cell in ${SAMPLE}`);
  const random = new Random(seed);
  const picked = new Set([...documented.keys()].filter(() => random.below(SAMPLE) === 0));
  const cells = await runMatrix({ only: (cell) => picked.has(cell) });
  expect(cells).toHaveLength(picked.size);
  const wrong = cells.flatMap(({ workload, request, fault, outcome, problems }) => {
    const name = `${workload}: ${request}: ${fault}`;
    const expected = documented.get(name);
    return outcome === expected && problems.length === 0
      ? []
      : [`${name}: "${outcome}", documented "${expected}". ${problems.join("; ")}`];
  });
  expect(wrong).toEqual([]);
});
