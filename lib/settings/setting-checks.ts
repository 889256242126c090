import type { SettingName, SettingValue } from "./configuration.ts";
import { encodedForFilter } from "./notification-filter.ts";

/** Returns what is expected of a value that is not allowed, or null. */
type Check = (value: SettingValue) => string | null;

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

/** Checks each item of a list; at most `most` items. */
const each =
  (check: (item: string) => string | null, most: number): Check =>
  (value) => {
    const items = Array.isArray(value) ? (value as string[]) : [];
    if (items.length > most) return `at most ${most} are allowed, and ${items.length} are given`;
    return items.map((item) => check(item)).find((problem) => problem !== null) ?? null;
  };

const keyArn = matching(/^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[\w-]+$/, "the ARN of a KMS key");
const memory = within(512, 10_240);

/** S3's rules for names: dots are neither doubled nor beside a dash, and the name does not look like an address. */
const bucketName: Check = (value) => {
  const name = String(value);
  const isName =
    /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name) &&
    !/\.\.|\.-|-\./.test(name) &&
    !/^\d+\.\d+\.\d+\.\d+$/.test(name);
  return name === "" || isName ? null : "the name of an S3 bucket is expected";
};

/** A lone surrogate, which no encoding has. */
const NOT_TEXT = /[\p{Cc}\p{Cs}]/u;
/** Characters of a prefix or suffix in S3's filter, encoded. */
const MAX_FILTER_LENGTH = 1_024;

/**
 * Part of a key that goes into S3's filter, where it is encoded, and into IAM's resources, where it must stand for itself. IAM takes
 * `*` and `?` for wildcards and `${` for a variable, and S3 does not.
 */
function keyPart(text: string): string | null {
  if (NOT_TEXT.test(text)) return "control characters cannot be part of an S3 filter";
  if (/[*?]/.test(text)) {
    return "* and ? are not allowed: S3 compares them letter by letter, and IAM takes them for wildcards. Give the literal beginning or end of the keys";
  }
  if (text.includes("${")) return '"${" is not allowed: IAM takes it for a variable';
  const { length } = encodedForFilter(text);
  return length <= MAX_FILTER_LENGTH
    ? null
    : `${length} characters when encoded, and S3 takes ${MAX_FILTER_LENGTH}`;
}

/** The folder is part of ARNs, SQL statements, shell commands and URIs, which engines decode in different ways. */
const tablePrefix: Check = (value) => {
  const prefix = String(value);
  if (prefix.split("/").some((segment) => ["", ".", ".."].includes(segment))) {
    return 'a folder such as "lake/packets" is expected: Spark cannot write to a bucket\'s root, and resolves empty, "." and ".." segments';
  }
  return /^[A-Za-z0-9_.=/-]{1,512}$/.test(prefix)
    ? null
    : 'a folder of letters, digits and "_", ".", "=", "-" is expected, at most 512 characters: engines encode other characters differently';
};

/** What tags of all services have in common. */
const TAG_KEY = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]{1,128}$/u;
const TAG_VALUE = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]{0,256}$/u;

function tag(text: string): string | null {
  const at = text.indexOf("=");
  const [key, value] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1) return `${JSON.stringify(text)} is not KEY=VALUE`;
  if (/^aws:/i.test(key)) return `the tag key ${JSON.stringify(key)} begins with aws:, which is reserved`;
  if (!TAG_KEY.test(key)) return `the tag key ${JSON.stringify(key)} may have 1 to 128 ${TAG_CHARACTERS}`;
  if (!TAG_VALUE.test(value))
    return `the value of the tag ${key} may have up to 256 ${TAG_CHARACTERS}, and is ${JSON.stringify(value)}`;
  return null;
}

const TAG_CHARACTERS = "letters, digits, spaces and _ . : / = + - @";
/** S3 and Lambda take 50; CloudFormation's own do not count. */
const MAX_TAGS = 50;

const tags: Check = (value) => {
  const problem = each(tag, MAX_TAGS)(value);
  if (problem !== null) return problem;
  const keys = (value as readonly string[]).map((text) => text.slice(0, text.indexOf("=")));
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  return twice === undefined ? null : `the tag key ${twice} is given twice`;
};

const idOf = (kind: "subnet" | "sg") => (text: string) =>
  new RegExp(`^${kind}-[0-9a-f]{8,17}$`).test(text)
    ? null
    : `${JSON.stringify(text)} is not an id such as ${kind}-0123456789abcdef0`;

/** What Lambda, S3, SQS, IAM and CloudWatch allow. Without these checks the deployment fails, or works on something else. */
export const settingChecks: Readonly<Partial<Record<SettingName, Check>>> = {
  captureBucket: bucketName,
  capturePrefix: (value) =>
    String(value).startsWith("/")
      ? "keys do not begin with a slash: no object would match"
      : keyPart(String(value)),
  captureSuffixes: each(
    (suffix) => (suffix === "" ? 'the suffix "" is every object: leave the list empty' : keyPart(suffix)),
    // S3 takes a hundred notifications of a bucket, and each suffix needs two: for uploads and for restored objects.
    50,
  ),
  captureDays: within(0, 3_650),
  captureKeyArn: keyArn,
  keyPattern: (value) => {
    const pattern = String(value);
    // It is part of the functions' environment, which Lambda limits to 4 KB.
    if (pattern.length > 512) return `at most 512 characters are allowed, and it has ${pattern.length}`;
    return pattern.split("/").filter((segment) => segment === "{vehicle_id}").length === 1
      ? null
      : "{vehicle_id} is expected exactly once, as a whole segment";
  },
  someipPorts: each(() => null, 100),
  doipPorts: each(() => null, 100),
  tableBucket: bucketName,
  tablePrefix,
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
  // Every alarm's description ends in it, and CloudWatch takes 1,024 characters.
  runbookUrl: matching(/^[^\s<>"\p{Cc}]{1,512}$/u, "an address without spaces, at most 512 characters,"),
  logDays: (value) => (LOG_DAYS.includes(Number(value)) ? null : `one of ${LOG_DAYS.join(", ")} is allowed`),
  permissionsBoundary: matching(
    /^arn:aws[a-z-]*:iam::(aws|\d{12}):policy\/[\w+=,.@/-]{1,512}$/,
    "a policy's ARN",
  ),
  tags,
  vpcSubnetIds: each(idOf("subnet"), 16),
  vpcSecurityGroupIds: each(idOf("sg"), 5),
};

const LOG_DAYS: readonly number[] = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
];
