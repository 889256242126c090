/**
 * histories.ts FOLDER COUNT: random histories as tables for other engines, each with what the model says must be read from it, one
 * JSON object a line.
 */
import { join } from "node:path";
import { FolderObjectStore } from "@deltacap/delta/folder";
import { Random, testSeed } from "../../support/random.ts";
import { TableHistory } from "../../support/tables/table-history.ts";
import type { TableModel } from "../../support/tables/table-model.ts";

const SEED = testSeed(20_261_130);
const STEPS = 15;
/** As the model's large values: a filter for them must not be rounded. */
const LARGE = 2n ** 53n + 1n;

/** Counts and sums as texts: they exceed what a JSON number holds. */
function expected({ version, columns, files }: TableModel) {
  const all = [...files.values()];
  const sum = (values: readonly bigint[]) => values.reduce((total, value) => total + value, 0n);
  const values = all.flatMap((file) => file.values);
  const dates: Record<string, number> = {};
  for (const { date, values } of all) {
    dates[date ?? "null"] = (dates[date ?? "null"] ?? 0) + values.length;
  }
  const more = columns.slice(2).map((name) => {
    const present = all.filter((file) => file.columns.includes(name)).flatMap((file) => file.values);
    return [name, { count: present.length, sum: String(10n * sum(present)) }];
  });
  return {
    version,
    rows: values.length,
    sum: String(sum(values)),
    large: values.filter((value) => value >= LARGE).length,
    dates,
    more: Object.fromEntries(more),
  };
}

const [folder = "", count = "20"] = process.argv.slice(2);
for (let number = 0; number < Number(count); number++) {
  const path = join(folder, `history-${number}`);
  const store = new FolderObjectStore(path);
  const history = new TableHistory(new Random(SEED + number), store, { data: true, unreadable: false });
  await history.begin();
  for (let step = 0; step < STEPS; step++) await history.step();
  const what = { seed: SEED, number, path, steps: history.steps.join(", ") };
  process.stdout.write(`${JSON.stringify({ ...what, ...expected(history.now) })}\n`);
}
