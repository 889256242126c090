import type { ParquetField, ValueConverter } from "@deltacap/parquet";
import { floorDivided, timestampScale } from "../files/column-decoder.ts";
import { dateText, timestampText } from "../files/file-statistics.ts";

/** The field of a checkpoint's adds that holds statistics typed, beside or in the place of `stats`. */
export const PARSED_STATISTICS = "stats_parsed";

/**
 * What becomes of a value of a column within `add.stats_parsed`: its JSON, as the add's `stats` has it (Delta protocol, "Per-file
 * Statistics"). Null for what JSON cannot say, such as NaN or an infinite time: a bound that is missing hides no row.
 */
export function statisticText(field: ParquetField): ValueConverter {
  const { physical, converted, logical } = field;
  // add.stats_parsed.maxValues.<column>
  const isUpper = field.path[2] === "maxValues";
  if (converted === "DECIMAL" || logical?.type === "DECIMAL") return (raw) => decimalText(raw, field.scale);
  if (converted === "DATE" || logical?.type === "DATE") return (raw) => dateText(Number(raw));
  const isTime = converted?.startsWith("TIMESTAMP") === true || logical?.type === "TIMESTAMP";
  if (physical === "INT96" || isTime) {
    const isLocal = logical?.type === "TIMESTAMP" && !logical.isAdjustedToUtc;
    return (raw) => boundText(raw as bigint, field, { isUpper, isLocal });
  }
  if (physical === "BYTE_ARRAY") {
    const isText = converted === "UTF8" || logical?.type === "STRING";
    return (raw) => (isText ? JSON.stringify(utf8.decode(raw as Uint8Array)) : null);
  }
  if (physical === "FLOAT" || physical === "DOUBLE")
    return (raw) => (Number.isFinite(raw) ? String(raw) : null);
  return (raw) => (raw instanceof Uint8Array ? null : String(raw));
}

/** The JSON of `stats_parsed`, read with {@link statisticText}. */
export function statisticsJson(parsed: unknown): string {
  if (typeof parsed === "string") return parsed;
  const members = Object.entries(parsed as Readonly<Record<string, unknown>>);
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${statisticsJson(value)}`).join(",")}}`;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** All digits: a number of JavaScript would round them. */
function decimalText(raw: number | bigint | boolean | Uint8Array, scale: number): string {
  const unscaled = raw instanceof Uint8Array ? bigEndian(raw) : BigInt(raw);
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, "0");
  const sign = unscaled < 0n ? "-" : "";
  if (scale <= 0) return `${sign}${digits}`;
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function bigEndian(bytes: Uint8Array): bigint {
  const value = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  return BigInt.asIntN(8 * bytes.length, value);
}

/** Rounded outwards, first to microseconds and then to milliseconds. */
function boundText(
  raw: bigint,
  field: ParquetField,
  { isUpper, isLocal }: { readonly isUpper: boolean; readonly isLocal: boolean },
): string | null {
  const { multiplier, divisor } = timestampScale(field);
  const value = raw * multiplier;
  const micros = isUpper ? -floorDivided(-value, divisor) : floorDivided(value, divisor);
  const text = timestampText(micros, isUpper ? "ceil" : "floor");
  return isLocal ? (text?.replace("Z", "") ?? null) : text;
}
