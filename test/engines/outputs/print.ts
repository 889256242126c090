/**
 * `print.ts FOLDER`: writes the stack's outputs for each value of logStore and tableScheme, one file an output, below
 * `FOLDER/LOGSTORE-SCHEME`, as CloudFormation prints them for the region eu-central-1.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { printed, templateOf } from "../../lib/synthesized.ts";

const [folder = "."] = process.argv.slice(2);
for (const logStore of ["dynamodb", "conditional"] as const) {
  for (const tableScheme of ["s3a", "s3"] as const) {
    const logTable = logStore === "dynamodb" ? { logTable: "delta-log" } : {};
    const { Outputs } = templateOf({ logStore, tableScheme, tableBucket: "the-lake", ...logTable });
    const place = join(folder, `${logStore}-${tableScheme}`);
    mkdirSync(place, { recursive: true });
    for (const name of ["SparkSettings", "SparkRead", "DeltaRsStatement", "DuckDbStatement"])
      writeFileSync(join(place, name), printed(Outputs[name]?.Value));
  }
}
