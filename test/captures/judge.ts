import { readFileSync } from "node:fs";
import { countExceptions, valueExceptions } from "./exceptions.ts";

/** What `compare.py --json` writes. */
interface JudgeReport {
  readonly missing: readonly [capture: string, packets: number, exit: number][];
  readonly count: readonly [capture: string, oracle: number, product: number, status: unknown][];
  readonly equal: Readonly<Record<string, number>>;
  readonly examples: Readonly<
    Record<
      string,
      readonly [capture: string, packet: number, expected: unknown, got: unknown, stack: string][]
    >
  >;
}

/**
 * `tsx judge.ts REPORT`: holds the comparison with tshark against the list of exceptions. A difference that is not listed
 * fails, and so does an exception that no longer occurs.
 */
function judge(report: JudgeReport): string[] {
  const problems = report.missing.map(([capture, packets]) => `${capture}: no rows, tshark has ${packets}`);
  const openCounts = new Map(countExceptions.map((exception) => [exception.capture, exception]));
  for (const [capture, expected, got] of report.count) {
    const exception = openCounts.get(capture);
    openCounts.delete(capture);
    if (exception === undefined || exception.expected !== expected || exception.got !== got) {
      problems.push(`${capture}: ${got} packets, tshark has ${expected}`);
    }
  }
  for (const { capture } of openCounts.values())
    problems.push(`${capture}: the count's exception no longer occurs`);

  const used = new Set<object>();
  for (const [column, differences] of Object.entries(report.examples)) {
    for (const [capture, packet, expected, got] of differences) {
      const exception = valueExceptions.find(
        (candidate) =>
          candidate.capture === capture &&
          candidate.columns.includes(column) &&
          packet >= candidate.packets[0] &&
          packet <= candidate.packets[1] &&
          (candidate.expected === undefined || candidate.expected === expected) &&
          (candidate.got === undefined || candidate.got === got),
      );
      if (exception !== undefined) used.add(exception);
      else problems.push(`${capture} packet ${packet}, ${column}: expected ${expected}, got ${got}`);
    }
  }
  for (const exception of valueExceptions) {
    if (!used.has(exception)) {
      problems.push(`${exception.capture}, ${exception.columns}: the exception no longer occurs`);
    }
  }
  return problems;
}

const report = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as JudgeReport;
const problems = judge(report);
for (const problem of problems.slice(0, 100)) console.log(problem);
const equal = Object.values(report.equal).reduce((sum, count) => sum + count, 0);
console.log(
  `note: ${equal} values equal to tshark's, ${countExceptions.length + valueExceptions.length} listed exceptions, ${problems.length} problems`,
);
process.exitCode = problems.length === 0 && equal > 0 ? 0 : 1;
