import { Cloud } from "./cloud.ts";
import type { RecordedRequest } from "./faults.ts";
import { type FaultColumn, faultColumns } from "./matrix-faults.ts";
import { MatrixSite } from "./matrix-site.ts";
import {
  CONVERTER,
  LARGE_CONVERTER,
  MAINTENANCE,
  NONSENSE,
  type RequestKind,
  type Workload,
  workloads,
} from "./matrix-workloads.ts";

/** One cell of the table. */
export interface Cell {
  readonly workload: string;
  readonly request: string;
  readonly fault: string;
  /** What happened in the faulty run; "-" where the fault does not exist. */
  readonly outcome: string;
  /** What was wrong after the clean run. */
  readonly problems: readonly string[];
}

/**
 * Runs every cell: a fresh site, the function once with the fault, then the pipeline without one. `lanes` cells at a time. `only` picks cells.
 */
export async function runMatrix({
  lanes = 4,
  only = () => true,
}: {
  readonly lanes?: number;
  readonly only?: (of: string) => boolean;
} = {}): Promise<Cell[]> {
  const cloud = await Cloud.start();
  const cells: Cell[] = [];
  try {
    for (const workload of workloads) {
      const all = workload.kinds.flatMap((of) => faultColumns.map((column) => ({ of, column })));
      const wanted = ({ of, column }: (typeof all)[number]) =>
        only(`${workload.name}: ${of.request}: ${column.fault}`);
      if (!all.some(wanted)) continue;
      const results: (Cell | undefined)[] = [];
      let next = 0;
      const lane = async (number: number) => {
        const site = await MatrixSite.open(cloud, `${workload.name.replace(/\W+/g, "-")}-${number}`);
        await workload.prepare(site);
        const restore = await site.snapshot();
        if (number === 0) await requireKinds(site, workload);
        for (let at = next++; at < all.length; at = next++) {
          const { of, column } = all[at]!;
          if (!wanted({ of, column })) continue;
          await restore();
          results[at] = await runCell(site, workload, of, column);
        }
        site.close();
      };
      await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
      cells.push(...results.filter((cell) => cell !== undefined));
    }
  } finally {
    await cloud.close();
  }
  return cells;
}

/** Every request of a clean run must be of one of the kinds, and each kind must occur. */
async function requireKinds(site: MatrixSite, workload: Workload): Promise<void> {
  const { faults } = site.visitor;
  faults.forget();
  const outcome = await workload.run(site);
  if (outcome !== "done")
    throw new Error(`a run of the ${workload.name} without faults ended as: ${outcome}`);
  const isOf = (of: RequestKind, { operation, subject }: RecordedRequest) =>
    of.operation === operation && of.about.test(subject);
  const everyKind = workload === LARGE_CONVERTER ? [...workload.kinds, ...CONVERTER.kinds] : workload.kinds;
  for (const request of faults.requests) {
    const kinds = everyKind.filter((of) => isOf(of, request)).length;
    if (kinds !== 1)
      throw new Error(`the ${workload.name}'s request ${JSON.stringify(request)} is of ${kinds} kinds`);
  }
  const missing = workload.kinds.filter((of) => !faults.requests.some((request) => isOf(of, request)));
  if (missing.length > 0) {
    throw new Error(`the ${workload.name} made no request "${missing.map((of) => of.request).join('", "')}"`);
  }
}

/** Cells in which a manifest is put aside, since two requests agree that it can never be committed. */
const DEAD_LETTERED = new Set(["committer: look at a capture: 404"]);

async function runCell(
  site: MatrixSite,
  workload: Workload,
  of: RequestKind,
  column: FaultColumn,
): Promise<Cell> {
  const cell = { workload: workload.name, request: of.request, fault: column.fault };
  const fault = column.effect(of);
  if (fault === null) return { ...cell, outcome: "-", problems: [] };
  const { faults } = site.visitor;
  faults.plan({ operation: of.operation, about: of.about, ...fault });
  site.impatient = fault.effect.kind === "silence";
  let outcome = await workload.run(site);
  const problems = faults.unused.length > 0 ? ["the fault did not hit"] : [];
  faults.forget();
  const lettersBefore =
    site.messages("captureDeadLetter").length + site.messages("manifestDeadLetter").length;
  const waited = site.messages("capture").length + site.messages("manifest").length;
  await cleanRun(site, workload);
  if (DEAD_LETTERED.has(`${workload.name}: ${of.request}: ${column.fault}`)) {
    // The runbook's advice: once the cause is gone, try again what was put aside.
    if (site.retryManifests(NONSENSE) === 0) problems.push("nothing was dead-lettered");
    outcome = "dead-lettered";
    await cleanRun(site, workload);
  }
  problems.push(...(await site.problems()), ...wrongDeadLetters(site));
  if (outcome === "done" && waited === 0 && lettersBefore > 1) outcome = "done, two dead letters";
  return { ...cell, outcome, problems };
}

/** The functions once more, without faults: as often as one gives another something to do. */
async function cleanRun(site: MatrixSite, workload: Workload): Promise<void> {
  if (workload === MAINTENANCE) await site.maintain(site.clean);
  for (let round = 1; round <= 3; round++) {
    await site.convert(site.clean);
    const { thrown } = await site.commit(site.clean);
    if (thrown !== null) throw thrown;
    if (site.messages("capture").length === 0 && site.messages("manifest").length === 0) break;
  }
}

/** Nothing but what makes no sense may be in a dead-letter queue. */
function wrongDeadLetters(site: MatrixSite): string[] {
  const letters = [...site.messages("captureDeadLetter"), ...site.messages("manifestDeadLetter")];
  return letters
    .filter(({ body }) => body !== NONSENSE)
    .map(({ attributes }) => `dead-lettered: ${attributes.reason ?? "without a reason"}`);
}
