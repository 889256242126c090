import { type OptionValues, type Terminal, UsageError } from "../terminal/command.ts";
import { megabytes, Progress } from "../terminal/progress.ts";

/** Megabytes: some minutes at home, and room on any disk. */
const DEFAULT_MEGABYTES = 1_000;

/** Options that bound what a command downloads from S3. */
export const downloadOptions = { "max-download": { type: "string" } } as const;

/** The line of a command's help that explains {@link downloadOptions}. */
export const downloadHelp = `  --max-download MB   of a table on S3: what may be copied to this machine; default ${DEFAULT_MEGABYTES}`;

/** How much may be copied, and a line of progress for it. */
export function downloadSettings(options: OptionValues, terminal: Terminal) {
  const text = options["max-download"] ?? String(DEFAULT_MEGABYTES);
  if (typeof text !== "string" || !/^\d{1,9}$/.test(text))
    throw new UsageError(`--max-download ${text}: a number of megabytes is expected`);
  const progress = new Progress(terminal);
  return {
    interruption: terminal.interruption,
    mostBytes: Number(text) * 1_000_000,
    onBytes: (copied: number, all: number) => {
      if (copied === all) progress.clear();
      else progress.show(() => `${megabytes(copied)} of ${megabytes(all)} copied from S3`);
    },
  };
}
