import { readFileSync, writeFileSync } from "node:fs";
import { type Cell, runMatrix } from "../test/support/aws/fault-matrix.ts";
import { faultColumns } from "../test/support/aws/matrix-faults.ts";
import { workloads } from "../test/support/aws/matrix-workloads.ts";

const file = new URL("reliability.md", import.meta.url);
const BEGIN = "<!-- faults: written by `npx tsx docs/write-reliability.ts` from a run of all cells -->";
const END = "<!-- end of faults -->";

/** The tables of `docs/reliability.md`, one for each function, from all cells of a run. */
export function faultsMarkdown(cells: readonly Cell[]): string {
  return workloads
    .map(({ name, kinds }) => {
      const rows = kinds.map(({ request }) => {
        const outcomes = faultColumns.map(
          ({ fault }) =>
            cells.find((cell) => cell.workload === name && cell.request === request && cell.fault === fault)
              ?.outcome ?? "?",
        );
        return `| ${[request, ...outcomes].join(" | ")} |`;
      });
      const header = `| request | ${faultColumns.map(({ fault }) => fault).join(" | ")} |`;
      const line = `|${"---|".repeat(faultColumns.length + 1)}`;
      return [`### ${name}`, "", header, line, ...rows].join("\n");
    })
    .join("\n\n");
}

/** Outcomes as the document states them, by function, request and fault. */
export function documentedOutcomes(text: string): Map<string, string> {
  const outcomes = new Map<string, string>();
  for (const section of between(text).split(/^### /m).slice(1)) {
    const [name = "", ...lines] = section.trim().split("\n");
    const [header, , ...rows] = lines.filter((line) => line.startsWith("|")).map(cellsOf);
    for (const [request, ...cells] of rows) {
      cells.forEach((outcome, i) => {
        outcomes.set(`${name}: ${request}: ${header?.[i + 1]}`, outcome);
      });
    }
  }
  return outcomes;
}

/** The document with these tables in the place of its own. */
export function withFaults(text: string, tables: string): string {
  const old = between(text);
  const begin = text.indexOf(BEGIN) + BEGIN.length;
  return `${text.slice(0, begin)}\n\n${tables}\n\n${text.slice(begin + old.length)}`;
}

function between(text: string): string {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin < 0 || end < begin)
    throw new Error("docs/reliability.md has lost the marks between which the faults stand");
  return text.slice(begin + BEGIN.length, end);
}

function cellsOf(line: string): string[] {
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

async function write(): Promise<void> {
  const cells = await runMatrix();
  const problems = cells.filter((cell) => cell.problems.length > 0);
  for (const { workload, request, fault, problems: found } of problems) {
    console.error(`${workload}: ${request}: ${fault}: ${found.join("; ")}`);
  }
  if (problems.length > 0) process.exitCode = 1;
  else writeFileSync(file, withFaults(readFileSync(file, "utf8"), faultsMarkdown(cells)));
}

if (process.argv[1]?.endsWith("write-reliability.ts")) await write();
