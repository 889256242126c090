import type { OpenStack } from "../stack/stack.ts";
import { type OptionValues, UsageError } from "../terminal/command.ts";
import { existingTable } from "./local-table.ts";
import type { MaintainedTable } from "./maintained-s3-table.ts";
import { isS3 } from "./readable-table.ts";

/** How a command is told which table to change, and how the table's other writers commit. */
export const maintenanceOptions = {
  stack: { type: "string" },
  region: { type: "string" },
  "log-table": { type: "string" },
  "table-scheme": { type: "string" },
  conditional: { type: "boolean" },
  json: { type: "boolean" },
} as const;

/** A command's usage, of which {@link maintenanceHelp} explains the table; `rest` are the command's own options. */
export function maintenanceUsage(name: string, rest: string): string {
  const tables = ["TABLE", "--stack NAME", "s3://BUCKET/FOLDER --log-table NAME|--conditional"];
  return `Usage: ${tables.map((table) => `deltacap ${name} ${table} ${rest}`).join("\n       ")}`;
}

/** The paragraph of a command's help that says what may be named. */
export const maintenanceTables = `TABLE is a folder, or a table on S3: that of a deployed stack (--stack alone), or any by its s3:// URI. Writers of a table on S3
must exclude each other in the same way, or one overwrites what the other committed: say how its writers do.`;

/** The lines of a command's help that explain {@link maintenanceOptions}. */
export const maintenanceHelp = `  --stack NAME              the table of this CloudFormation stack, in the way that its outputs say
  --log-table NAME          by Spark's log store: its DynamoDB table
  --table-scheme S          with --log-table: s3a or s3, as Spark is given the table; default s3a
  --conditional             by S3's conditional puts: no Spark writes the table
  --region NAME             default: as AWS's own tools find it (AWS_REGION, the profile)`;

/**
 * The table that the arguments name. `open` finds a stack: by default in AWS. Throws `UsageError` where there is no table, and for a
 * table on S3 of which it is not said, or said wrongly, how its writers exclude each other.
 */
export async function maintainedTable(
  positionals: readonly string[],
  options: OptionValues,
  open: OpenStack | undefined,
): Promise<MaintainedTable> {
  const [table, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`one TABLE is expected, and there is also ${more[0]}`);
  const { stack } = options;
  if (table === undefined && typeof stack !== "string")
    throw new UsageError("TABLE is missing: a folder, an s3:// URI, or --stack NAME for a stack's table");
  if (table !== undefined && !isS3(table)) return await folderTable(table, options);
  // Only here: loading AWS's clients takes some 0.1 s.
  const { s3Table, stackTable } = await import("./maintained-s3-table.ts");
  if (typeof stack === "string") return await stackTable(table ?? null, stack, options, open);
  return await s3Table(table ?? "", options);
}

async function folderTable(folder: string, options: OptionValues): Promise<MaintainedTable> {
  const wrong = ["stack", "log-table", "table-scheme", "conditional"].find(
    (name) => options[name] !== undefined,
  );
  if (wrong !== undefined)
    throw new UsageError(`--${wrong} is for a table on S3, and ${folder} is a folder: leave one out`);
  return await existingTable(folder);
}
