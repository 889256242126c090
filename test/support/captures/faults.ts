import { existsSync } from "node:fs";
import { join } from "node:path";

/** Folder of inputs that an earlier version got wrong. It is not part of the repository. */
const faults = process.env.DELTACAP_FAULTS ?? join(import.meta.dirname, "../../../../shared/faults");

/** False where the folder is missing. Tests that need it are skipped by name there. */
export const hasFaults = existsSync(join(faults, "README.md"));

/** Absolute path of one input, such as `captures/zero-tail.pcap`. */
export function fault(path: string): string {
  return join(faults, path);
}
