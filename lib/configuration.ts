import { environmentOf, type FunctionSettings, functionDefaults, settingsFrom } from "../src/settings.ts";

/** What a deployment may be told, by the context `deltacap` in cdk.json. Each has a default that a small fleet can keep. */
export interface DeltacapConfiguration {
  /** An existing bucket that captures are uploaded to; "" makes one. Other notifications on it are kept. */
  readonly captureBucket: string;
  /** Only objects whose key begins so are captures; as S3 compares it, without a slash of its own. */
  readonly capturePrefix: string;
  /** Only objects whose key ends in one of these; none: all. Formats are told by content, so most need none. */
  readonly captureSuffixes: readonly string[];
  /** Days after which captures expire; 0: never. Rows keep every byte of a packet. */
  readonly captureDays: number;
  /** Key that the existing capture bucket is encrypted by; its eTags say nothing of the content then. */
  readonly captureKeyArn: string;
  /** Whether a capture is deleted once its rows are committed. */
  readonly deleteCaptures: boolean;
  /** How object keys name the vehicle. */
  readonly keyPattern: string;
  /** Ports that carry SOME/IP and DoIP, where they are not the standards' own. */
  readonly someipPorts: readonly string[];
  readonly doipPorts: readonly string[];

  /** An existing bucket that the table goes to; "" makes one. Its lifecycle rules are its owner's. */
  readonly tableBucket: string;
  /** The table's folder in its bucket: no slashes at its ends, never empty. */
  readonly tablePrefix: string;
  /** Key that the existing table bucket is encrypted by. */
  readonly tableKeyArn: string;
  /** The scheme by which Spark is given the table: it is part of the log store's key. */
  readonly tableScheme: "s3a" | "s3";
  /** `dynamodb` is shared with Spark; `conditional` serves tables that no Spark writes. */
  readonly logStore: "dynamodb" | "conditional";
  /** An existing DynamoDB table of Spark's log store; "" makes one. */
  readonly logTable: string;
  /** Days that the ledger remembers a source. */
  readonly ledgerDays: number;
  /** Glue database in which a table `packets` is registered for Athena; "": none. */
  readonly glueDatabase: string;

  /** "": keys that AWS owns; "create": a key of the stack's own; or the ARN of a key, whose policy is its owner's. */
  readonly key: string;

  /** Messages that one run of the converter is given at most, and the seconds it waits for them. */
  readonly batchSize: number;
  readonly batchWindowSeconds: number;
  /** Converters at once at most. A limit, not a reservation. */
  readonly converterConcurrency: number;
  readonly converterTimeoutSeconds: number;
  /** MB. Lambda gives processor time in proportion: 1,769 MB are one core. */
  readonly converterMemory: number;
  readonly committerMemory: number;
  readonly maintenanceMemory: number;
  /** Whether one committer at once is enforced; an account with the smallest quota cannot reserve. */
  readonly reserveCommitter: boolean;
  readonly commitIntervalSeconds: number;
  readonly filesPerCommit: number;
  /** Largest message of the queues, in bytes. */
  readonly messageBytes: number;
  /** Minutes between two runs of maintenance. */
  readonly maintenanceMinutes: number;
  readonly checkpointInterval: number;
  readonly optimize: boolean;
  readonly vacuum: boolean;
  readonly vacuumHours: number;

  /** Receives the alarms by mail; "": nobody yet, subscribe to the topic. */
  readonly alarmEmail: string;
  /** Where the runbook is found by whoever is woken: its sections are linked from the alarms. */
  readonly runbookUrl: string;
  /** Days that the functions' logs are kept: one of the numbers that CloudWatch Logs knows. */
  readonly logDays: number;
  /** ARN of a policy that every role of the stack is bounded by; "": none. */
  readonly permissionsBoundary: string;
}

export const configurationDefaults: DeltacapConfiguration = {
  captureBucket: "",
  capturePrefix: "",
  captureSuffixes: [],
  captureDays: 0,
  captureKeyArn: "",
  deleteCaptures: functionDefaults.deleteCaptures,
  keyPattern: functionDefaults.keyPattern,
  someipPorts: [],
  doipPorts: [],
  tableBucket: "",
  tablePrefix: "packets",
  tableKeyArn: "",
  tableScheme: functionDefaults.tableScheme,
  logStore: functionDefaults.logStore,
  logTable: "",
  ledgerDays: functionDefaults.ledgerDays,
  glueDatabase: "",
  key: "",
  // A batch shares files: with fewer captures the files are smaller, with more a failed run repeats more.
  batchSize: 100,
  // Upload to row is half of it longer in the middle.
  batchWindowSeconds: 5,
  converterConcurrency: 20,
  // The largest capture that S3 takes in one put, 5 GiB, is read and decoded in less.
  converterTimeoutSeconds: 300,
  converterMemory: 1_769,
  // It waits nearly all the time, and every second of it is billed: at one core it would be most of a small fleet's bill.
  committerMemory: 1_024,
  // What the smallest accounts may use at most.
  maintenanceMemory: 3_008,
  reserveCommitter: true,
  commitIntervalSeconds: functionDefaults.commitIntervalSeconds,
  filesPerCommit: functionDefaults.filesPerCommit,
  messageBytes: functionDefaults.messageBytes,
  maintenanceMinutes: 15,
  checkpointInterval: functionDefaults.checkpointInterval,
  optimize: functionDefaults.optimize,
  vacuum: functionDefaults.vacuum,
  vacuumHours: functionDefaults.vacuumHours,
  alarmEmail: "",
  runbookUrl: "docs/runbook.md",
  logDays: 30,
  permissionsBoundary: "",
};

type Name = keyof DeltacapConfiguration;
type Value = DeltacapConfiguration[Name];

/**
 * The configuration of what was given, the rest from the defaults. Throws an error that names every setting that is unknown
 * or has a value it may not have. Values may be texts, as the command line gives them.
 */
export function configurationFrom(given: Readonly<Record<string, unknown>>): DeltacapConfiguration {
  const problems: string[] = [];
  const values: Partial<Record<Name, Value>> = {};
  for (const [name, value] of Object.entries(given)) {
    if (!isName(name)) {
      problems.push(
        `there is no setting ${name}: it may be ${Object.keys(configurationDefaults).join(", ")}`,
      );
      continue;
    }
    const read = asTypeOf(configurationDefaults[name], value);
    if (read === null) problems.push(`${name} is ${JSON.stringify(value)}: ${expected(name)}`);
    else values[name] = read;
  }
  const configuration = { ...configurationDefaults, ...values } as DeltacapConfiguration;
  for (const name of Object.keys(configurationDefaults) as Name[]) {
    const problem = problemOf(name, configuration[name]);
    if (problem !== null) problems.push(`${name} is ${JSON.stringify(configuration[name])}: ${problem}`);
  }
  if (problems.length > 0) throw new Error(`the configuration cannot be used:\n  ${problems.join("\n  ")}`);
  return configuration;
}

function isName(name: string): name is Name {
  return Object.hasOwn(configurationDefaults, name);
}

/** The value as what the default is, or null. */
function asTypeOf(fallback: Value, value: unknown): Value | null {
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

function expected(name: Name): string {
  const fallback = configurationDefaults[name];
  return Array.isArray(fallback) ? "a list of texts is expected" : `a ${typeof fallback} is expected`;
}

type Check = (value: Value) => string | null;

const within =
  (least: number, most: number): Check =>
  (value) =>
    typeof value === "number" && value >= least && value <= most
      ? null
      : `from ${least} to ${most} is allowed`;

const matching =
  (pattern: RegExp, what: string): Check =>
  (value) =>
    value === "" || pattern.test(String(value)) ? null : `${what} is expected`;

const bucketName = matching(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "a bucket's name");
const keyArn = matching(/^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[\w-]+$/, "the ARN of a KMS key");
const memory = within(512, 10_240);

/** What Lambda, S3, SQS and CloudWatch allow, where a template would only fail at its deployment. */
const checks: Readonly<Partial<Record<Name, Check>>> = {
  captureBucket: bucketName,
  capturePrefix: (value) =>
    String(value).startsWith("/") ? "keys do not begin with a slash: no object would match" : null,
  captureSuffixes: (value) =>
    Array.isArray(value) && value.includes("") ? 'the suffix "" is every object: leave the list empty' : null,
  captureDays: within(0, 3_650),
  captureKeyArn: keyArn,
  keyPattern: (value) =>
    String(value)
      .split("/")
      .filter((segment) => segment === "{vehicle_id}").length === 1
      ? null
      : "{vehicle_id} is expected exactly once, as a whole segment",
  tableBucket: bucketName,
  tablePrefix: (value) =>
    String(value)
      .split("/")
      .some((segment) => ["", ".", ".."].includes(segment))
      ? 'a folder such as "lake/packets" is expected: the bucket\'s root, empty, "." and ".." segments are not what Spark would write to'
      : null,
  tableKeyArn: keyArn,
  logTable: matching(/^[\w.-]{3,255}$/, "a DynamoDB table's name"),
  glueDatabase: matching(/^[a-z0-9_]{1,255}$/, "a Glue database's name"),
  key: (value) => (value === "create" ? null : keyArn(value)),
  batchSize: within(1, 10_000),
  batchWindowSeconds: within(0, 300),
  converterConcurrency: within(2, 1_000),
  converterTimeoutSeconds: within(30, 900),
  converterMemory: memory,
  committerMemory: memory,
  maintenanceMemory: memory,
  maintenanceMinutes: within(5, 1_440),
  alarmEmail: matching(/^[^@\s]+@[^@\s]+$/, "a mail address"),
  logDays: (value) => (LOG_DAYS.includes(Number(value)) ? null : `one of ${LOG_DAYS.join(", ")} is allowed`),
  permissionsBoundary: matching(/^arn:aws[a-z-]*:iam::(aws|\d{12}):policy\/.+$/, "a policy's ARN"),
};

const LOG_DAYS: readonly number[] = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
];

/** Settings that the functions read are held to the functions' own limits. */
function problemOf(name: Name, value: Value): string | null {
  const problem = checks[name]?.(value) ?? null;
  if (problem !== null || !Object.hasOwn(functionDefaults, name)) return problem;
  try {
    settingsFrom([name as keyof FunctionSettings], environmentOf({ [name]: value }));
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Where {@link givenIn} looks: a construct's node. */
interface ContextSource {
  tryGetContext(key: string): unknown;
}

/** What the context says: the object `deltacap`, over which `deltacap:NAME` goes, one setting each. */
export function givenIn(node: ContextSource): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  const object: unknown = node.tryGetContext("deltacap");
  if (typeof object === "object" && object !== null) Object.assign(given, object);
  for (const name of Object.keys(configurationDefaults)) {
    const value: unknown = node.tryGetContext(`deltacap:${name}`);
    if (value !== undefined) given[name] = value;
  }
  return given;
}
