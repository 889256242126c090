import { optimizeDefaults } from "../../src/settings.ts";
import { forgetVehicle } from "../../src/upkeep/forget-vehicle.ts";
import { LEAST_RETENTION } from "../../src/upkeep/vacuum-table.ts";
import type { OpenStack } from "../stack/stack.ts";
import {
  maintainedTable,
  maintenanceHelp,
  maintenanceOptions,
  maintenanceTables,
  maintenanceUsage,
} from "../tables/maintained-table.ts";
import { type Command, ExitCode, required } from "../terminal/command.ts";
import { count, Progress } from "../terminal/progress.ts";

const WEEK_HOURS = LEAST_RETENTION / 3_600_000;

/** Printed after every run, because data protection law asks what is left. */
const NOT_YET_GONE = `The rows are gone from the newest version only. Their bytes stay in the table's folder until "deltacap vacuum --delete" has run,
${WEEK_HOURS} hours or the table's retention after this; a bucket that keeps versions has them until its rules for old versions remove
them. Raw captures in their bucket were not touched, nor was the log: statistics of removed files, and the list of captures, may
name the vehicle. The captures whose rows were removed stay known as forgotten: "deltacap ingest" leaves them out, and "deltacap retry
--again" ingests them again. Other captures of it, uploaded from now on or waiting in a queue, are ingested.
`;

/** The command `forget`. `open` finds a stack: by default in AWS. */
export const forget = (open?: OpenStack): Command => ({
  name: "forget",
  writes: true,
  summary: "a vehicle's rows, removed from a table",
  help: `${maintenanceUsage("forget", "--vehicle ID [--json]")}

Removes all rows whose vehicle_id is ID: files that have nothing else are removed, others written anew without them. What is
appended meanwhile is looked at too.

${NOT_YET_GONE}
${maintenanceTables}

  --vehicle ID              as the column vehicle_id has it
${maintenanceHelp}
  --json                    one JSON object a commit; the last one sums up

Exit: 0 no row of the vehicle is left, 3 some files may still have some (each is named).
`,
  options: { ...maintenanceOptions, vehicle: { type: "string" } },
  run: async (positionals, options, terminal) => {
    const vehicle = required(options, "vehicle", "ID");
    const table = await maintainedTable(positionals, options, open);
    const json = options.json === true;
    const progress = new Progress(terminal);
    const result = await forgetVehicle(vehicle, table.ports, optimizeDefaults, {
      onCommit: ({ version, removedFiles, rows }) => {
        if (json)
          terminal.out(
            `${JSON.stringify({ event: "committed", version, removed_files: removedFiles, rows })}\n`,
          );
        else progress.show(() => `version ${version}: ${count(rows)} rows in ${count(removedFiles)} files`);
      },
    });
    progress.clear();
    const { version, commits, rows, removedFiles, rewrittenFiles, lateFiles, remaining } = result;
    if (json) {
      const files = { removed_files: removedFiles, rewritten_files: rewrittenFiles, late_files: lateFiles };
      terminal.out(`${JSON.stringify({ vehicle, version, commits, rows, ...files, remaining })}\n`);
    } else {
      for (const { path, reason } of remaining) terminal.out(`remaining  ${path}: ${reason}\n`);
      terminal.out(
        `${count(rows)} rows of ${vehicle} were removed, ${count(removedFiles)} files with them, and ${count(rewrittenFiles)} files written anew; the table is at version ${version}\n${NOT_YET_GONE}`,
      );
    }
    return remaining.length === 0 ? ExitCode.ok : ExitCode.environment;
  },
});
