import { isCalendarDate } from "../../src/packets/partition-folder.ts";
import { optimizeDefaults } from "../../src/settings.ts";
import { optimizeTable } from "../../src/upkeep/optimize-table.ts";
import type { OpenStack } from "../stack/stack.ts";
import {
  maintainedTable,
  maintenanceHelp,
  maintenanceOptions,
  maintenanceTables,
  maintenanceUsage,
} from "../tables/maintained-table.ts";
import { type Command, ExitCode, UsageError } from "../terminal/command.ts";
import { count, megabytes, Progress } from "../terminal/progress.ts";

/** The command `optimize`. `open` finds a stack: by default in AWS. */
export const optimize = (open?: OpenStack): Command => ({
  name: "optimize",
  writes: true,
  summary: "a table's small files rewritten into large, sorted ones",
  help: `${maintenanceUsage("optimize", "[--date YYYY-MM-DD] [--json]")}

Rewrites the small files of each date (under ${megabytes(optimizeDefaults.smallBytes)}) into files of about ${megabytes(optimizeDefaults.fileBytes)}, sorted by vehicle, capture
and packet, so that queries open fewer files; and any file of which more than ${100 * optimizeDefaults.deletedShare} % of the rows are deleted by a deletion vector.
The rows stay the same; appends go on meanwhile. The files that were rewritten stay in the folder, for readers of earlier versions,
until "deltacap vacuum".

${maintenanceTables}

  --date D                  only files of this date
${maintenanceHelp}
  --json                    one JSON object a commit; the last one sums up
`,
  options: { ...maintenanceOptions, date: { type: "string" } },
  run: async (positionals, options, terminal) => {
    const { date } = options;
    if (typeof date === "string" && !isCalendarDate(date)) {
      throw new UsageError(`--date ${date}: a date as 2026-01-31 is expected`);
    }
    const table = await maintainedTable(positionals, options, open);
    const json = options.json === true;
    const progress = new Progress(terminal);
    const result = await optimizeTable(table.ports, optimizeDefaults, {
      ...(typeof date === "string" ? { date } : {}),
      onCommit: ({ version, removedFiles, file }) => {
        const { path, size, rows } = file;
        if (json) {
          terminal.out(
            `${JSON.stringify({ event: "committed", version, removed_files: removedFiles, path, bytes: size, rows })}\n`,
          );
        } else
          progress.show(
            () => `version ${version}: ${path}, ${count(rows)} rows of ${count(removedFiles)} files`,
          );
      },
    });
    progress.clear();
    if (json) {
      terminal.out(
        `${JSON.stringify({
          version: result.version,
          commits: result.commits,
          removed_files: result.removedFiles,
          removed_bytes: result.removedBytes,
          added_files: result.addedFiles,
          added_bytes: result.addedBytes,
          rows: result.rows,
          left_out: result.leftOut,
          given_up: result.givenUp,
          stopped: result.stopped,
        })}\n`,
      );
    } else {
      for (const { path, reason } of result.leftOut) terminal.out(`left out  ${path}: ${reason}\n`);
      if (result.givenUp > 0) {
        terminal.out(
          `${count(result.givenUp)} groups of files were given up: another writer removed a file of theirs\n`,
        );
      }
      if (result.stopped !== null) terminal.out(`stopped early: ${result.stopped}\n`);
      terminal.out(
        `${count(result.removedFiles)} files (${megabytes(result.removedBytes)}) became ${count(result.addedFiles)} (${megabytes(result.addedBytes)}) with ${count(result.rows)} rows; the table is at version ${result.version}\n`,
      );
    }
    return ExitCode.ok;
  },
});
