import { TableRefusedError } from "../errors.ts";
import { stringifyJson } from "./json.ts";

/** Why a value is not of a field's type, behind "is ... and"; null where it is. */
type Check = (value: unknown) => Problem | null;

interface Problem {
  /** Of the member that is wrong, below the field: `.date`, `[0]`; empty where it is the field itself. */
  readonly at: string;
  readonly value: unknown;
  readonly expected: string;
}

interface Field {
  readonly name: string;
  readonly check: Check;
  readonly isRequired: boolean;
}

function kind(expected: string, isOne: (value: unknown) => boolean): Check {
  return (value) => (isOne(value) ? null : { at: "", value, expected });
}

/** What no UTF-8 has: in a file that is written from the log it would become another text. */
const LONE_SURROGATE = /\p{Surrogate}/u;
const INTEGER_LIMIT = 2 ** 31;

const text = kind("text", (value) => typeof value === "string" && !LONE_SURROGATE.test(value));
const boolean = kind("true or false", (value) => typeof value === "boolean");
const integer = kind(
  "a whole number of 32 bits",
  (value) => Number.isInteger(value) && Math.abs(value as number) < INTEGER_LIMIT,
);
const long = kind("a whole number of 64 bits", (value) =>
  typeof value === "bigint" ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value),
);
const bytes = kind("a number of bytes", (value) => Number.isSafeInteger(value) && (value as number) >= 0);
const milliseconds = kind("milliseconds since 1970", (value) => Number.isSafeInteger(value));

const textList: Check = (value) => {
  if (!Array.isArray(value)) return { at: "", value, expected: "a list of texts" };
  const wrong = value.findIndex((item) => text(item) !== null);
  return wrong < 0 ? null : { at: `[${wrong}]`, value: value[wrong] as unknown, expected: "text" };
};

const textMap: Check = (value) => {
  if (!isObject(value)) return { at: "", value, expected: "an object of texts" };
  for (const key of Object.keys(value)) {
    const item = value[key];
    if (item === null || item === undefined) continue;
    if (text(key) !== null || text(item) !== null) {
      return { at: `.${key}`, value: item, expected: "text or null" };
    }
  }
  return null;
};

function struct(...fields: readonly Field[]): Check {
  return (value) => {
    if (!isObject(value)) return { at: "", value, expected: "an object" };
    for (const { name, check, isRequired } of fields) {
      const member = value[name];
      if (!isRequired && (member === null || member === undefined)) continue;
      const problem = check(member);
      if (problem !== null) return { ...problem, at: `.${name}${problem.at}` };
    }
    return null;
  };
}

const required = (name: string, check: Check): Field => ({ name, check, isRequired: true });
const optional = (name: string, check: Check): Field => ({ name, check, isRequired: false });

const deletionVector = struct(
  required("storageType", text),
  required("pathOrInlineDv", text),
  optional("offset", integer),
  optional("sizeInBytes", integer),
  optional("cardinality", long),
  optional("maxRowIndex", long),
);

/** What a file's actions have in common. */
const ofFiles = [
  required("path", text),
  optional("dataChange", boolean),
  optional("tags", textMap),
  optional("deletionVector", deletionVector),
  optional("baseRowId", long),
  optional("defaultRowCommitVersion", long),
  optional("stats", text),
];

/**
 * The types of all fields that we use, or that a checkpoint keeps (Delta protocol, "Actions"). Required is what we cannot do
 * without, which is less than the protocol asks for. All else is taken as it is.
 */
const SHAPES: Readonly<Record<string, Check>> = {
  protocol: struct(
    required("minReaderVersion", integer),
    required("minWriterVersion", integer),
    optional("readerFeatures", textList),
    optional("writerFeatures", textList),
  ),
  metaData: struct(
    // The newest one must have these: see `requireTableState`.
    optional("id", text),
    optional("name", text),
    optional("description", text),
    optional("schemaString", text),
    optional("partitionColumns", textList),
    optional("configuration", textMap),
    optional("format", struct(optional("provider", text), optional("options", textMap))),
    optional("createdTime", long),
  ),
  add: struct(
    ...ofFiles,
    required("partitionValues", textMap),
    required("size", bytes),
    optional("modificationTime", milliseconds),
    optional("clusteringProvider", text),
  ),
  remove: struct(
    ...ofFiles,
    optional("partitionValues", textMap),
    optional("size", bytes),
    optional("deletionTimestamp", milliseconds),
    optional("extendedFileMetadata", boolean),
  ),
  txn: struct(required("appId", text), optional("version", long), optional("lastUpdated", long)),
  domainMetadata: struct(
    required("domain", text),
    required("configuration", text),
    required("removed", boolean),
  ),
  commitInfo: struct(),
  sidecar: struct(required("path", text), required("sizeInBytes", bytes)),
};

/**
 * The actions that we know in a line's `value`, by name: their fields have the types of `actions.ts`, nulls are left out. Throws
 * `TableRefusedError` for one that is malformed, which names the field: what is not understood must not be built on.
 */
export function checkedFields(value: unknown, where: string): Record<string, Fields> {
  if (!isObject(value)) {
    throw new TableRefusedError(`${where} is no action: ${shown(value)}; nothing was written`);
  }
  const action: Record<string, Fields> = {};
  for (const [name, body] of Object.entries(value)) {
    // Checkpoints and some writers give a null for each action that a line is not.
    if (body === null || body === undefined || !Object.hasOwn(SHAPES, name)) continue;
    const problem = SHAPES[name]?.(body) ?? null;
    if (problem !== null) {
      throw new TableRefusedError(
        `${where}: ${name}${problem.at} is ${shown(problem.value)}, and must be ${problem.expected}; nothing was written`,
      );
    }
    const fields = withoutNulls(body as Fields);
    if (name === "commitInfo") action[name] = usableCommitInfo(fields);
    else if (name !== "metaData" || fields.configuration === undefined) action[name] = fields;
    // To some writers a property that was unset is null.
    else action[name] = { ...fields, configuration: withoutNulls(fields.configuration as Fields) };
  }
  return action;
}

type Fields = Readonly<Record<string, unknown>>;

/** Some writers give them for fields that are absent. */
function withoutNulls(fields: Fields): Fields {
  const entries = Object.entries(fields);
  return entries.some(([, value]) => value === null)
    ? Object.fromEntries(entries.filter(([, value]) => value !== null))
    : fields;
}

const TEXTS = ["operation", "engineInfo", "txnId"] as const;
/** Milliseconds before and after 1970 that a Date can be. */
const DATE_LIMIT = 8.64e15;

/** Free-form by the protocol: no table is refused for it, but what is of another type than we take it for is left out. */
function usableCommitInfo(fields: Fields): Fields {
  const { timestamp, tags, ...usable } = { ...fields };
  for (const name of TEXTS) if (typeof usable[name] !== "string") delete usable[name];
  return {
    ...usable,
    ...(typeof timestamp === "number" && Math.abs(timestamp) <= DATE_LIMIT ? { timestamp } : {}),
    ...(isObject(tags) ? { tags } : {}),
  };
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Never what is in a list or an object: it may be nested deeper than can be written. */
function shown(value: unknown): string {
  if (value === undefined) return "missing";
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "a list" : "an object";
  const json = stringifyJson(value);
  return json.length <= 80 ? json : `${json.slice(0, 80)}...`;
}
