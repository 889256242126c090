import { compareUtf8 } from "@deltacap/parquet";
import type { Add } from "../actions/actions.ts";
import { parseJson } from "../actions/json.ts";

/**
 * Whether the file may have a row in which the text column has this value, by its statistics (Delta protocol, "Per-file
 * Statistics"); true where they do not say. Bounds of texts may be cut off: a greatest value that the value begins with says
 * nothing, since not every writer moves it up.
 */
export function mayHoldText({ stats }: Pick<Add, "stats">, column: string, value: string): boolean {
  if (stats === undefined) return true;
  let parsed: Partial<Record<"numRecords" | "minValues" | "maxValues" | "nullCount", unknown>> | null;
  try {
    parsed = parseJson(stats) as typeof parsed;
  } catch {
    // Statistics are optional, and so is what they say.
    return true;
  }
  const min = member(parsed?.minValues, column);
  const max = member(parsed?.maxValues, column);
  const nulls = member(parsed?.nullCount, column);
  if (typeof nulls === "number" && nulls === parsed?.numRecords) return false;
  if (typeof min === "string" && compareUtf8(value, min) < 0) return false;
  if (typeof max === "string" && compareUtf8(value, max) > 0 && !value.startsWith(max)) return false;
  return true;
}

/** Rows of the file, as its statistics say; null where they do not, or say what is not a number of rows. */
export function statedRows({ stats }: Pick<Add, "stats">): number | null {
  if (stats === undefined) return null;
  try {
    const rows = (parseJson(stats) as { numRecords?: unknown } | null)?.numRecords;
    return isNatural(rows) ? rows : null;
  } catch {
    // Statistics are optional, and so is what they say.
    return null;
  }
}

function isNatural(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function member(values: unknown, name: string): unknown {
  return typeof values === "object" && values !== null && Object.hasOwn(values, name)
    ? (values as Record<string, unknown>)[name]
    : undefined;
}
