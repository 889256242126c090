import { countExceptions, type ValueException, valueExceptions } from "./exceptions.ts";

/** What `compare.py --json --show 100000` writes. */
export interface JudgeReport {
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

/** What the judge read the table's rows from; some exceptions are of one only. */
export type RowFormat = "parquet" | "jsonl";

/**
 * Holds the comparison with tshark against the list of exceptions. A difference that is not listed is a problem, and so is an
 * exception that no longer occurs.
 */
export function judge(report: JudgeReport, format: RowFormat): string[] {
  return [
    ...report.missing.map(([capture, packets]) => `${capture}: no rows, tshark has ${packets}`),
    ...judgeCounts(report),
    ...judgeValues(report, format),
  ];
}

/** How many values were compared and found equal. */
export function equalValues(report: JudgeReport): number {
  return Object.values(report.equal).reduce((sum, count) => sum + count, 0);
}

function judgeCounts(report: JudgeReport): string[] {
  const problems: string[] = [];
  const open = new Map(countExceptions.map((exception) => [exception.capture, exception]));
  for (const [capture, expected, got] of report.count) {
    const exception = open.get(capture);
    open.delete(capture);
    if (exception === undefined || exception.expected !== expected || exception.got !== got) {
      problems.push(`${capture}: ${got} packets, tshark has ${expected}`);
    }
  }
  for (const capture of open.keys()) problems.push(`${capture}: the count's exception no longer occurs`);
  return problems;
}

function judgeValues(report: JudgeReport, format: RowFormat): string[] {
  const problems: string[] = [];
  const exceptions = valueExceptions.filter(({ only }) => only === undefined || only === format);
  const used = new Set<ValueException>();
  for (const [column, differences] of Object.entries(report.examples)) {
    for (const [capture, packet, expected, got] of differences) {
      const exception = exceptions.find(
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
  for (const exception of exceptions) {
    if (!used.has(exception)) {
      problems.push(`${exception.capture}, ${exception.columns}: the exception no longer occurs`);
    }
  }
  return problems;
}
