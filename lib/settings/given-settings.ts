import { environmentOf, type FunctionSettings, functionDefaults, settingsFrom } from "../../src/settings.ts";
import {
  configurationDefaults,
  type DeltacapConfiguration,
  type SettingName,
  type SettingValue,
} from "./configuration.ts";
import { nearestName } from "./nearest-name.ts";
import { settingChecks } from "./setting-checks.ts";

/**
 * The configuration of what was given, the rest from the defaults. Throws an error that names every setting that is unknown
 * or has a value it may not have. Values may be texts, as the command line gives them.
 */
export function configurationFrom(given: Readonly<Record<string, unknown>>): DeltacapConfiguration {
  const problems: string[] = [];
  const values: Partial<Record<SettingName, SettingValue>> = {};
  for (const [name, value] of Object.entries(given)) {
    if (!isName(name)) {
      problems.push(unknownSetting(name));
      continue;
    }
    const read = asTypeOf(configurationDefaults[name], value);
    if (read === null) problems.push(`${name} is ${JSON.stringify(value)}: ${expected(name)}`);
    else values[name] = read;
  }
  const configuration = { ...configurationDefaults, ...values } as DeltacapConfiguration;
  for (const name of Object.keys(configurationDefaults) as SettingName[]) {
    const problem = problemOf(name, configuration[name]);
    if (problem !== null) problems.push(`${name} is ${JSON.stringify(configuration[name])}: ${problem}`);
  }
  if (problems.length > 0) throw new Error(`the configuration cannot be used:\n  ${problems.join("\n  ")}`);
  return configuration;
}

function unknownSetting(name: string): string {
  const near = nearestName(name, Object.keys(configurationDefaults));
  const names = `the settings are ${Object.keys(configurationDefaults).join(", ")}`;
  return `there is no setting ${name}: ${near === null ? names : `did you mean ${near}?`}`;
}

function isName(name: string): name is SettingName {
  return Object.hasOwn(configurationDefaults, name);
}

/** The value as what the default is, or null. */
function asTypeOf(fallback: SettingValue, value: unknown): SettingValue | null {
  if (typeof fallback === "string") return typeof value === "string" ? value : null;
  if (typeof fallback === "boolean") return value === true || value === "true" ? true : isNo(value);
  if (typeof fallback === "number") {
    const number = typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : value;
    return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : null;
  }
  const items = typeof value === "string" ? value.split(",").filter((item) => item !== "") : value;
  return Array.isArray(items) && items.every((item) => typeof item === "string") ? items : null;
}

function isNo(value: unknown): false | null {
  return value === false || value === "false" ? false : null;
}

function expected(name: SettingName): string {
  const fallback = configurationDefaults[name];
  return Array.isArray(fallback) ? "a list of texts is expected" : `a ${typeof fallback} is expected`;
}

/** Settings that the functions read are held to the functions' own limits. */
function problemOf(name: SettingName, value: SettingValue): string | null {
  const problem = settingChecks[name]?.(value) ?? null;
  if (problem !== null || !Object.hasOwn(functionDefaults, name)) return problem;
  try {
    settingsFrom([name as keyof FunctionSettings], environmentOf({ [name]: value }));
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The context of a construct, where {@link givenIn} looks. */
interface ContextSource {
  getAllContext(): Record<string, unknown>;
}

/** Context keys of the app itself, beside the settings: see bin/deltacap.ts. */
const APP_KEYS: readonly string[] = ["stack", "assets"];
const NAMESPACE = "deltacap";

/**
 * Returns what the context gives: the object `deltacap`, over which `deltacap:NAME` goes, one setting each. CDK accepts any context key,
 * so a misspelled one would be ignored without a word. Throws an error that names every key that looks like a misspelled setting.
 */
export function givenIn(node: ContextSource): Record<string, unknown> {
  const context: Readonly<Record<string, unknown>> = node.getAllContext();
  const problems = Object.keys(context)
    .map((key) => keyProblem(key))
    .filter((problem) => problem !== null);
  const object = context[NAMESPACE] ?? {};
  if (typeof object !== "object" || Array.isArray(object)) {
    problems.push(
      `the context "${NAMESPACE}" is ${JSON.stringify(object)}: an object of settings is expected, or --context ${NAMESPACE}:NAME=VALUE`,
    );
  }
  if (problems.length > 0) throw new Error(`the context cannot be used:\n  ${problems.join("\n  ")}`);
  const single = Object.entries(context)
    .filter(([key]) => key.startsWith(`${NAMESPACE}:`))
    .map(([key, value]) => [key.slice(NAMESPACE.length + 1), value] as const);
  return { ...object, ...Object.fromEntries(single) };
}

/** Returns what is wrong with a context key that is not CDK's own, or null. */
function keyProblem(key: string): string | null {
  const [before = "", after] = key.split(":", 2);
  if (before === NAMESPACE || APP_KEYS.includes(key)) return null;
  if (after !== undefined) {
    const isNear = nearestName(before, [NAMESPACE]) !== null;
    return isNear ? `there is no context key ${key}: did you mean ${NAMESPACE}:${after}?` : null;
  }
  if (isName(key))
    return `the setting ${key} needs its prefix: did you mean --context ${NAMESPACE}:${key}=VALUE?`;
  const near = nearestName(key, [...APP_KEYS, NAMESPACE], 1);
  return near === null ? null : `there is no context key ${key}: did you mean ${near}?`;
}
