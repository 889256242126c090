import { removeLeftovers } from "../../src/local/leftovers.ts";
import { LEAST_RETENTION, vacuumTable } from "../../src/upkeep/vacuum-table.ts";
import type { OpenStack } from "../stack/stack.ts";
import {
  maintainedTable,
  maintenanceHelp,
  maintenanceOptions,
  maintenanceTables,
  maintenanceUsage,
} from "../tables/maintained-table.ts";
import { type Command, ExitCode, type OptionValues, UsageError } from "../terminal/command.ts";
import { count, megabytes } from "../terminal/progress.ts";

const HOUR = 3_600_000;

/** The command `vacuum`. `open` finds a stack: by default in AWS. */
export const vacuum = (open?: OpenStack): Command => ({
  name: "vacuum",
  writes: true,
  summary: "data files that no recent version refers to, deleted",
  help: `${maintenanceUsage("vacuum", "[--retention-hours N] [--delete] [--json]")}

Tells which data files no version of the last ${LEAST_RETENTION / HOUR} hours refers to, and with --delete deletes them: files that were replaced
or removed before that, and files that were never committed. Earlier versions can then no longer be read. Files that are
younger are left alone, but for those in a folder that a killed "deltacap ingest" left: nobody can commit them any more, and so are _delta_log and every other hidden folder.

${maintenanceTables}

  --delete                  deletes; without it nothing is changed
  --retention-hours N       hours instead of ${LEAST_RETENTION / HOUR}, or of what the table's properties ask for
  --allow-short-retention   allows less than that: nothing else may be reading or writing the table
${maintenanceHelp}
  --json                    one JSON object a file; the last one sums up
`,
  options: {
    ...maintenanceOptions,
    delete: { type: "boolean" },
    "retention-hours": { type: "string" },
    "allow-short-retention": { type: "boolean" },
  },
  run: async (positionals, options, terminal) => {
    const hours = retentionHours(options);
    const table = await maintainedTable(positionals, options, open);
    const json = options.json === true;
    const leftovers = (await table.leftovers?.()) ?? { files: [], runs: [] };
    if (options.delete === true) await removeLeftovers(table.ports.table, leftovers);
    const left = { files: leftovers.files.length, bytes: sum(leftovers.files.map(({ size }) => size)) };
    const result = await vacuumTable(table.ports, {
      ...(hours === null ? {} : { retentionMs: hours * HOUR }),
      allowShortRetention: options["allow-short-retention"] === true,
      delete: options.delete === true,
      onFile: ({ path, size }) =>
        terminal.out(json ? `${JSON.stringify({ event: "file", path, bytes: size })}\n` : `${path}\n`),
    });
    if (options.delete === true) await table.removeUnfinished(Date.now() - result.retentionMs);
    const { version, retentionMs, deleted, files, bytes, otherFiles } = result;
    if (json) {
      const summary = {
        version,
        retention_hours: retentionMs / HOUR,
        deleted,
        files,
        bytes,
        other_files: otherFiles,
        ...(left.files === 0 ? {} : { leftovers: left }),
      };
      terminal.out(`${JSON.stringify(summary)}\n`);
      return ExitCode.ok;
    }
    if (left.files > 0) {
      const what = `${count(left.files)} files (${megabytes(left.bytes)}) that killed ingests left`;
      terminal.out(
        deleted ? `${what} were deleted\n` : `${what} would be deleted by --delete, which is safe\n`,
      );
    }
    if (otherFiles > 0) {
      terminal.out(
        `${count(otherFiles)} files that are no data files were left: no version refers to them\n`,
      );
    }
    const what = `${count(files)} files (${megabytes(bytes)}) that no version of the last ${retentionMs / HOUR} hours refers to`;
    terminal.out(deleted ? `${what} were deleted\n` : `${what} would be deleted by --delete\n`);
    return ExitCode.ok;
  },
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function retentionHours(options: OptionValues): number | null {
  const text = options["retention-hours"];
  if (text === undefined) return null;
  const hours = Number(text);
  if (text === "" || !(hours >= 0 && hours <= 1_000_000)) {
    throw new UsageError(`--retention-hours ${String(text)}: a number of hours is expected`);
  }
  return hours;
}
