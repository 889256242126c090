// npm run fuzz:parquet -- [--inputs N] [--seed N] [--first N]: mutated checkpoints and data files, read with turns of the event
// loop between. Exit code 1 for anything but a value or a documented error within 2 s. `--first N --inputs 1` repeats one input.
import { parseArgs } from "node:util";
import { fuzzParquet } from "./run.ts";

const number = { type: "string" } as const;
const { values } = parseArgs({ options: { inputs: number, seed: number, first: number } });
const count = Number(values.inputs ?? 10_000);
const seed = Number(values.seed ?? 1);
const { figures, faults } = await fuzzParquet(seed, count, Number(values.first ?? 0));
for (const fault of faults) console.error(`seed ${seed}, ${fault}`);
console.log(`seed ${seed}`);
console.log(`note: ${count} inputs: ${JSON.stringify(figures)}`);
process.exitCode = faults.length > 0 || figures === null ? 1 : 0;
