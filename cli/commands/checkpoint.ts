import { functionDefaults } from "../../src/settings.ts";
import { checkpointTable } from "../../src/upkeep/checkpoint-table.ts";
import type { OpenStack } from "../stack/stack.ts";
import {
  maintainedTable,
  maintenanceHelp,
  maintenanceOptions,
  maintenanceTables,
  maintenanceUsage,
} from "../tables/maintained-table.ts";
import { type Command, ExitCode } from "../terminal/command.ts";
import { count, megabytes } from "../terminal/progress.ts";

/** The command `checkpoint`. `open` finds a stack: by default in AWS. */
export const checkpoint = (open?: OpenStack): Command => ({
  name: "checkpoint",
  writes: true,
  summary: "a checkpoint of a table's newest version, from which readers begin",
  help: `${maintenanceUsage("checkpoint", "[--json]")}

Writes a checkpoint of the newest version, unless there is one: readers then need no commit before it. "deltacap ingest" writes
one by itself every ${functionDefaults.checkpointInterval} versions, or as often as the table's property delta.checkpointInterval says; so does the maintenance
function in AWS.

${maintenanceTables}

${maintenanceHelp}
  --json                    one JSON object
`,
  options: maintenanceOptions,
  run: async (positionals, options, terminal) => {
    const table = await maintainedTable(positionals, options, open);
    const { checkpointInterval: interval } = functionDefaults;
    const result = await checkpointTable(table.ports, { interval, always: true });
    if (options.json === true) {
      terminal.out(`${JSON.stringify(result)}\n`);
      return result.outcome === "left to others" ? ExitCode.environment : ExitCode.ok;
    }
    switch (result.outcome) {
      case "written": {
        const { version, files, bytes } = result;
        terminal.out(
          `checkpoint of version ${version}: ${count(files)} files, ${megabytes(bytes)}, read back and compared\n`,
        );
        break;
      }
      case "left to others":
        terminal.err(
          `deltacap checkpoint: the table asks for checkpoints that deltacap does not write: ${result.reason}. Nothing was written; let Spark write it\n`,
        );
        return ExitCode.environment;
      case "no table":
        terminal.out("there is no table any more\n");
        break;
      default:
        terminal.out(`version ${result.version} has a checkpoint already\n`);
    }
    return ExitCode.ok;
  },
});
