import { RetryableError } from "@deltacap/delta";
import { KeyPattern } from "../../src/ingest/key-pattern.ts";
import {
  type FileFilter,
  fileSource,
  findFiles,
  type PassedOver,
} from "../../src/local/file-capture-store.ts";
import type { CaptureSource } from "../../src/manifest/capture-store.ts";
import { defaultKeyPattern } from "../../src/settings.ts";
import { type OptionValues, UsageError } from "../terminal/command.ts";
import { requireThere } from "../terminal/paths.ts";
import { count, type Progress } from "../terminal/progress.ts";

/** Each file once, by whichever of the paths it is found first. */
export async function findSources(
  paths: readonly string[],
  leaveOut: string,
  vehicleOf: VehicleRule,
  progress: Progress,
  filter: FileFilter | null,
): Promise<{ readonly sources: CaptureSource[]; readonly passedOver: readonly PassedOver[] }> {
  for (const path of paths) await requireThere(path);
  const sources: CaptureSource[] = [];
  const passedOver: PassedOver[] = [];
  const seen = new Set<string>();
  for (const path of paths) {
    for await (const file of findFiles(
      path,
      leaveOut,
      (found) => passedOver.push(found),
      filter ?? undefined,
    )) {
      if (seen.has(file.path)) continue;
      seen.add(file.path);
      try {
        sources.push(await fileSource(file, vehicleOf));
      } catch (error) {
        // One that cannot be read costs only itself.
        if (!(error instanceof RetryableError)) throw error;
        passedOver.push({ path: file.path, reason: error.message });
      }
      progress.show(() => `found ${count(sources.length)} captures`);
    }
  }
  return { sources, passedOver };
}

/** How a capture's vehicle is found from its path relative to PATH. */
export interface VehicleRule {
  vehicleId(key: string): string | null;
  /** For a person. */
  readonly description: string;
}

/** Returns how a capture's vehicle is found, as the options say. Throws `UsageError` for a rule that makes no sense. */
export function vehicleRule(options: OptionValues): VehicleRule {
  const { vehicle } = options;
  const text = options["key-pattern"];
  if (vehicle === undefined) {
    const pattern = keyPattern(String(text ?? defaultKeyPattern));
    return { vehicleId: (key) => pattern.vehicleId(key), description: `the key pattern ${pattern.text}` };
  }
  if (text !== undefined)
    throw new UsageError("--vehicle and --key-pattern exclude each other: give one of them");
  if (typeof vehicle !== "string" || vehicle === "")
    throw new UsageError("--vehicle ID is empty: name the vehicle");
  return { vehicleId: () => vehicle, description: "--vehicle" };
}

function keyPattern(text: string): KeyPattern {
  try {
    return new KeyPattern(text);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
