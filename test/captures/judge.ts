import { readFileSync } from "node:fs";
import { countExceptions, valueExceptions } from "./exceptions.ts";
import { equalValues, type JudgeReport, judge } from "./judge-report.ts";

/** `tsx judge.ts REPORT`: judges the report that `compare.py` wrote of the table's Parquet files. */
const report = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as JudgeReport;
const problems = judge(report, "parquet");
for (const problem of problems.slice(0, 100)) console.log(problem);
const equal = equalValues(report);
console.log(
  `note: ${equal} values equal to tshark's, ${countExceptions.length + valueExceptions.length} listed exceptions, ${problems.length} problems`,
);
process.exitCode = problems.length === 0 && equal > 0 ? 0 : 1;
