/**
 * Every setting, its default and its reason, once: read by the command line, the handlers and the infrastructure.
 */
const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

/** Node's. No stage reads it: only this file names it. */
declare const process: { readonly env: Readonly<Record<string, string | undefined>> };

/** An environment variable is missing or invalid. Only the operator can fix it. */
export class SettingError extends Error {
  override readonly name = "SettingError";

  constructor(variable: string, found: string, allowed: string) {
    super(`the environment variable ${variable} is ${found}: ${allowed} is expected`);
  }
}

/** Which ports carry what, where the environment says so; without, the decoder has the standards' own. */
export interface PortSettings {
  /** `DELTACAP_SOMEIP_PORTS`, as 30490,30501: what begins like a message there is SOME/IP, complete or not. */
  readonly someipPorts?: readonly number[];
  /** `DELTACAP_DOIP_PORTS`. */
  readonly doipPorts?: readonly number[];
}

/** Undefined where nothing is set. Throws `SettingError` for what is no list of ports. */
export function portsFrom(
  environment: Readonly<Record<string, string | undefined>>,
): PortSettings | undefined {
  const someipPorts = portList(environment, "DELTACAP_SOMEIP_PORTS");
  const doipPorts = portList(environment, "DELTACAP_DOIP_PORTS");
  if (someipPorts === undefined && doipPorts === undefined) return undefined;
  return { ...(someipPorts && { someipPorts }), ...(doipPorts && { doipPorts }) };
}

function portList(
  environment: Readonly<Record<string, string | undefined>>,
  variable: string,
): readonly number[] | undefined {
  const text = environment[variable];
  if (text === undefined || text === "") return undefined;
  const ports = portNumbers(text);
  if (ports !== null) return ports;
  throw new SettingError(variable, `"${text}"`, PORTS);
}

const PORTS = "a list of ports from 0 to 65535, as 30490,30501,";

function portNumbers(text: string): readonly number[] | null {
  if (text === "") return [];
  const items = text.split(",").map((item) => item.trim());
  return items.every((item) => /^\d{1,5}$/.test(item) && Number(item) <= 65_535) ? items.map(Number) : null;
}

/** Bounds of one converter batch and of one capture in it, and what its decoder is told. */
export const converterDefaults = {
  /** Rows of a row group: large enough for good compression, small enough that memory stays under 512 MB. */
  rows: 131_072,
  /** Frames held in memory before rows are written out. With 32 MiB a conversion takes no less time, and 199 MB instead of 127. */
  frameBytes: 12 * MiB,
  /**
   * A batch of so many rows and bytes takes some 80 MiB with every protocol in it, 40 MiB with those of most captures. Beside it there
   * is one packet at most, twice: 256 MiB for the largest. With Node's own 70 MB no capture takes more
   * than 450 MB, and the window of a zstd capture.
   */
  heldBytes: 96 * MiB,
  /** Readers like files of 64 MiB and more; one put takes it without parts. */
  fileBytes: 128 * MiB,
  /** Each open date holds a batch and perhaps a file. */
  openDates: 8,
  /** A logger that ran for a year has 366; a clock that was wrong at times gives more, and some of these are left out then. */
  datesPerCapture: 400,
  /** As large as one S3 put may be. */
  captureBytes: 5 * GiB,
  /** Captures of gateways that send often have some 50 KB: a batch of them waits for S3 more than it decodes. */
  readAhead: { captureBytes: MiB, totalBytes: 16 * MiB, captures: 16 },
  /** Decompressed bytes of one capture. */
  decompressedBytes: 64 * GiB,
  /** Decompressed bytes for each compressed one, judged once `decompressedFloor` bytes came out. Zeros and one packet over and
   * over make 1000 in gzip; captures whose times differ stay far below this. */
  decompressionRatio: 400,
  /** Some 65,000 packets without a byte: the most that a bomb of a few kilobytes gets converted. */
  decompressedFloor: MiB,
  /** Read when it is asked for, so that a command which decodes nothing does not fail by it. Throws `SettingError`. */
  get ports() {
    return portsFrom(process.env);
  },
} as const;

/** Bounds of one run that rewrites small files into large ones. */
export const optimizeDefaults = {
  /** Half of what is aimed at: what a run has written is not small for the next one, even if it compresses better. */
  smallBytes: converterDefaults.fileBytes / 2,
  fileBytes: converterDefaults.fileBytes,
  /** As Spark's OPTIMIZE (`optimize.maxDeletedRowsRatio`): below it, rewriting a file costs more than reading past its deleted rows. */
  deletedShare: 0.05,
  /** Beside it, a row group being written takes some 100 MiB. Some 45 MiB of it are for reading a full row group. */
  mergeBytes: 224 * MiB,
  /** A row group of others that takes more to be read is not rewritten by `forget`: maintenance has 3 GB. */
  readBytes: GiB,
  rows: converterDefaults.rows,
  frameBytes: converterDefaults.frameBytes,
  /** Some 100 MB of add actions. */
  filesPerRun: 100_000,
} as const;

/** Gateways store captures below a folder named after the vehicle. */
export const defaultKeyPattern = "{vehicle_id}/**";

/** CloudWatch's namespace of all metrics; the dimension `service` tells the function, and `stack` whose it is. */
export const metricsNamespace = "Deltacap";

/** The committer's run: invoked every minute, it ends by itself before the next. */
export const committerRun = {
  /** Seconds from its start for which it receives. */
  receiveSeconds: 50,
  /** Seconds of the function's timeout that are left for settling what was received. */
  reserveSeconds: 20,
  /** Seconds. Beyond the minute only when stores are slow; the next invocation then waits. */
  timeoutSeconds: 110,
  /** Seconds: twice what a run may take. */
  visibilitySeconds: 220,
  /** Long polls at once: 40 manifests in the time of one request, at 0.03 dollars a day when nothing comes. */
  pollers: 4,
} as const;

/** Seconds of the converter's timeout that are left for the put of its files and its manifest. */
export const converterReserveSeconds = 30;

/**
 * Seconds of maintenance's timeout in which no group of files is begun any more: for what was begun, of which merging a group and
 * committing it takes longest.
 */
export const maintenanceReserveSeconds = 180;

/** Goes into each commit as its writer. */
export const engineInfo = "deltacap/0.1.0";

/** What the infrastructure tells the functions, and each function takes what it needs of (see {@link settingsFrom}). */
export interface FunctionSettings {
  /** The stack's name: its metrics' dimension, so that the alarms of one stack do not count what another does. */
  readonly stackName: string;
  /** `s3://bucket/folder` of the table. */
  readonly tableUri: string;
  /** The scheme by which Spark is given the table: part of the log store's key. */
  readonly tableScheme: "s3a" | "s3";
  /** `dynamodb` is shared with Spark; `conditional` serves tables that no Spark writes. */
  readonly logStore: "dynamodb" | "conditional";
  /** DynamoDB table of the log store; "" where the log store is `conditional`. */
  readonly logTable: string;
  readonly ledgerTable: string;
  /** Days that the ledger remembers a source: longer than anybody may deliver its capture again. */
  readonly ledgerDays: number;
  /** Buckets that captures may come from. */
  readonly captureBuckets: readonly string[];
  /** How object keys name the vehicle. */
  readonly keyPattern: string;
  /** Whether captures are encrypted by KMS: their eTag says nothing of the content then, so that the content is hashed. */
  readonly hashContent: boolean;
  /** What carries SOME/IP and DoIP, where it is not the standards' ports: see {@link PortSettings}. */
  readonly someipPorts: readonly number[];
  readonly doipPorts: readonly number[];
  /** Whether a capture is deleted once its rows are committed. */
  readonly deleteCaptures: boolean;
  readonly captureQueueUrl: string;
  readonly captureDeadLetterUrl: string;
  readonly manifestQueueUrl: string;
  readonly manifestDeadLetterUrl: string;
  /** SQS's limit of one message, as the queues have it. */
  readonly messageBytes: number;
  /** Seconds between two commits at least: under 5, Spark's OPTIMIZE starves. */
  readonly commitIntervalSeconds: number;
  /** Commits as soon as this many files are waiting. */
  readonly filesPerCommit: number;
  /** Versions between two checkpoints. */
  readonly checkpointInterval: number;
  /** Whether maintenance also rewrites small files into large ones. */
  readonly optimize: boolean;
  /** Whether maintenance also deletes files that no version of the last `vacuumHours` refers to. */
  readonly vacuum: boolean;
  readonly vacuumHours: number;
}

/** How a setting is read: null from `parse` is what it may not be, and `allowed` what it may. */
interface Reading<Value> {
  readonly parse: (text: string) => Value | null;
  readonly allowed: string;
}

const anyText: Reading<string> = { parse: (text) => text, allowed: "a text" };
const nonEmpty: Reading<string> = { parse: (text) => text || null, allowed: "a text that is not empty" };
const ports: Reading<readonly number[]> = { parse: portNumbers, allowed: PORTS };
const yesOrNo: Reading<boolean> = {
  parse: (text) => (text === "true" ? true : text === "false" ? false : null),
  allowed: "true or false",
};
const list: Reading<readonly string[]> = {
  parse: (text) => {
    const items = text.split(",").filter((item) => item !== "");
    return items.length === 0 ? null : items;
  },
  allowed: "a list with commas",
};

function oneOf<const Choice extends string>(...choices: readonly Choice[]): Reading<Choice> {
  return {
    parse: (text) => choices.find((choice) => choice === text) ?? null,
    allowed: choices.join(" or "),
  };
}

function wholeNumber(least: number, most: number): Reading<number> {
  return {
    parse: (text) => {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= least && value <= most ? value : null;
    },
    allowed: `a whole number from ${least} to ${most}`,
  };
}

/** For each setting its environment variable, and how it is read. */
const functionSettings: {
  readonly [Name in keyof FunctionSettings]: { readonly variable: string } & Reading<FunctionSettings[Name]>;
} = {
  stackName: { variable: "DELTACAP_STACK", ...nonEmpty },
  tableUri: { variable: "DELTACAP_TABLE", ...nonEmpty },
  tableScheme: { variable: "DELTACAP_TABLE_SCHEME", ...oneOf("s3a", "s3") },
  logStore: { variable: "DELTACAP_LOG_STORE", ...oneOf("dynamodb", "conditional") },
  logTable: { variable: "DELTACAP_LOG_TABLE", ...anyText },
  ledgerTable: { variable: "DELTACAP_LEDGER_TABLE", ...nonEmpty },
  ledgerDays: { variable: "DELTACAP_LEDGER_DAYS", ...wholeNumber(1, 3_650) },
  captureBuckets: { variable: "DELTACAP_CAPTURE_BUCKETS", ...list },
  keyPattern: { variable: "DELTACAP_KEY_PATTERN", ...nonEmpty },
  hashContent: { variable: "DELTACAP_HASH_CONTENT", ...yesOrNo },
  someipPorts: { variable: "DELTACAP_SOMEIP_PORTS", ...ports },
  doipPorts: { variable: "DELTACAP_DOIP_PORTS", ...ports },
  deleteCaptures: { variable: "DELTACAP_DELETE_CAPTURES", ...yesOrNo },
  captureQueueUrl: { variable: "DELTACAP_CAPTURE_QUEUE_URL", ...nonEmpty },
  captureDeadLetterUrl: { variable: "DELTACAP_CAPTURE_DEAD_LETTER_URL", ...nonEmpty },
  manifestQueueUrl: { variable: "DELTACAP_MANIFEST_QUEUE_URL", ...nonEmpty },
  manifestDeadLetterUrl: { variable: "DELTACAP_MANIFEST_DEAD_LETTER_URL", ...nonEmpty },
  messageBytes: { variable: "DELTACAP_MESSAGE_BYTES", ...wholeNumber(64 * KiB, MiB) },
  commitIntervalSeconds: { variable: "DELTACAP_COMMIT_INTERVAL_SECONDS", ...wholeNumber(5, 50) },
  filesPerCommit: { variable: "DELTACAP_FILES_PER_COMMIT", ...wholeNumber(1, 50_000) },
  checkpointInterval: { variable: "DELTACAP_CHECKPOINT_INTERVAL", ...wholeNumber(1, 100_000) },
  optimize: { variable: "DELTACAP_OPTIMIZE", ...yesOrNo },
  vacuum: { variable: "DELTACAP_VACUUM", ...yesOrNo },
  vacuumHours: { variable: "DELTACAP_VACUUM_HOURS", ...wholeNumber(1, 100_000) },
};

/** Settings that a small fleet can keep; what has none here names a resource. */
export const functionDefaults = {
  tableScheme: "s3a",
  logStore: "dynamodb",
  ledgerDays: 90,
  keyPattern: defaultKeyPattern,
  hashContent: false,
  someipPorts: [],
  doipPorts: [],
  deleteCaptures: false,
  messageBytes: 256 * KiB,
  commitIntervalSeconds: 10,
  filesPerCommit: 1_000,
  checkpointInterval: 100,
  optimize: false,
  vacuum: false,
  vacuumHours: 168,
} as const satisfies Partial<FunctionSettings>;

/**
 * The named settings out of a function's environment. Throws `SettingError` that names the variable, its value and what it may be:
 * the function then fails at its start, before it takes any work.
 */
export function settingsFrom<Name extends keyof FunctionSettings>(
  names: readonly Name[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Pick<FunctionSettings, Name> {
  const settings: Partial<Record<Name, unknown>> = {};
  for (const name of names) {
    const { variable, parse, allowed } = functionSettings[name];
    const text = environment[variable];
    if (text === undefined) throw new SettingError(variable, `not set (setting ${name})`, allowed);
    const value = parse(text);
    if (value === null) throw new SettingError(variable, `"${text}" (setting ${name})`, allowed);
    settings[name] = value;
  }
  return settings as Pick<FunctionSettings, Name>;
}

/** The environment by which {@link settingsFrom} gives these settings back. */
export function environmentOf(settings: Partial<FunctionSettings>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      functionSettings[name as keyof FunctionSettings].variable,
      Array.isArray(value) ? value.join(",") : String(value),
    ]),
  );
}
