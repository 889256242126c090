import { committerRun, converterDefaults, functionDefaults } from "../../src/settings.ts";
import type { Prices } from "./list-prices.ts";

/** What a fleet uploads. */
export interface Fleet {
  readonly vehicles: number;
  /** Objects that one vehicle's gateway uploads a day. */
  readonly objectsPerVehicle: number;
  readonly bytesPerObject: number;
  readonly packetsPerObject: number;
}

/**
 * What the stack does for it, as far as the bill depends on it. The functions' sizes and the batches are those of the stack's
 * configuration, which a test compares.
 */
export const costAssumptions = {
  /** Packets that one core converts in a second: below what docs/performance.md measures on the Ethernet mix. */
  packetsPerCoreSecond: 200_000,
  /** From asking S3 for an object to its first byte. Small objects wait together, as many as are read ahead. */
  secondsToFirstByte: 0.02,
  /** Start, ledger, the put of the file and the manifest. */
  secondsPerBatch: 0.3,
  batchObjects: 100,
  batchWindowSeconds: 5,
  converterMegabytes: 1_769,
  committerMegabytes: 1_024,
  maintenanceMegabytes: 3_008,
  maintenanceMinutes: 15,
  maintenanceSeconds: 10,
  /** Bytes of Parquet for each byte of capture: the Ethernet mix's, where half of each payload is noise. */
  tableBytesPerCaptureByte: 0.66,
  /** The item's attributes and what DynamoDB adds for each item. */
  ledgerItemBytes: 400,
  logBytesPerBatch: 1_000,
  customMetrics: 30,
  alarms: 25,
} as const;

/** What a fleet's uploads are assumed to be. */
export type CostAssumptions = { readonly [Name in keyof typeof costAssumptions]: number };

/** One line of the bill. */
export interface CostLine {
  readonly service: "S3" | "SQS" | "Lambda" | "DynamoDB" | "CloudWatch";
  readonly what: string;
  /** How much there is of it a day, in `unit`s. */
  readonly amount: number;
  readonly unit: string;
  /** US dollars a day. */
  readonly dollars: number;
}

/** The bill of a day. */
export interface FleetCost {
  readonly lines: readonly CostLine[];
  /** US dollars a day, without what is kept. */
  readonly dollars: number;
  /** US dollars a day for each day of captures, and of the table, that is kept. */
  readonly keptCaptures: number;
  readonly keptTable: number;
}

const DAY_SECONDS = 86_400;
const DAY_MINUTES = 1_440;
/** Days of a month by which monthly prices are divided. */
const MONTH_DAYS = 365 / 12;
const MILLION = 1_000_000;
const GB = 1_000_000_000;
/** Lambda's megabytes are 1/1024 of its gigabytes, and so many of them are one core. */
const MEGABYTES_PER_GIGABYTE = 1_024;
const MEGABYTES_PER_CORE = 1_769;
/** Messages that are received, sent or deleted by one request at most. */
const MESSAGES_PER_REQUEST = 10;
/** S3's parts of files over this many bytes are puts of their own. */
const PART_BYTES = 8 * 1024 * 1024;

/** The AWS bill of a day of steady load, from list prices. */
export function fleetCost(fleet: Fleet, prices: Prices, assumptions: CostAssumptions): FleetCost {
  const load = dailyLoad(fleet, assumptions);
  const lines = [
    ...captureLines(load, prices),
    ...tableLines(load, prices),
    ...functionLines(load, prices, assumptions),
    ...ledgerLines(load, prices, assumptions),
    ...watchLines(load, prices, assumptions),
  ];
  return {
    lines,
    dollars: lines.reduce((sum, line) => sum + line.dollars, 0),
    keptCaptures: (load.bytes / GB / MONTH_DAYS) * prices.s3GigabyteMonth,
    keptTable: (load.tableBytes / GB / MONTH_DAYS) * prices.s3GigabyteMonth,
  };
}

/** Amounts of a day. */
interface Load {
  readonly objects: number;
  readonly bytes: number;
  readonly packets: number;
  readonly batches: number;
  readonly commits: number;
  readonly tableBytes: number;
  readonly files: number;
}

function dailyLoad(fleet: Fleet, assumptions: CostAssumptions): Load {
  const objects = fleet.vehicles * fleet.objectsPerVehicle;
  const bytes = objects * fleet.bytesPerObject;
  const perWindow = Math.max(1, (objects / DAY_SECONDS) * assumptions.batchWindowSeconds);
  const batches = objects / Math.min(assumptions.batchObjects, perWindow);
  const tableBytes = bytes * assumptions.tableBytesPerCaptureByte;
  return {
    objects,
    bytes,
    packets: objects * fleet.packetsPerObject,
    batches,
    commits: Math.min(batches, DAY_SECONDS / functionDefaults.commitIntervalSeconds),
    tableBytes,
    files: Math.max(batches, tableBytes / converterDefaults.fileBytes),
  };
}

function captureLines({ objects }: Load, prices: Prices): CostLine[] {
  // S3's notification, and a share of the requests that receive and delete ten at once.
  const requests = objects * (1 + 2 / MESSAGES_PER_REQUEST);
  return [
    millions("S3", "uploads by the gateways: puts", objects, "put", prices.s3Puts),
    millions("S3", "captures read: gets", objects, "get", prices.s3Gets),
    millions("SQS", "capture queue: requests", requests, "request", prices.sqsRequests),
  ];
}

function tableLines({ batches, commits, files, tableBytes }: Load, prices: Prices): CostLine[] {
  // A file over a part's size is begun, put in parts and completed. A commit puts its temporary file and itself, and lists.
  const puts = Math.max(files, tableBytes / PART_BYTES + 2 * files) + 3 * commits;
  // The committer asks for each file's size and reads its schema.
  const gets = 2 * files + commits;
  const polls = (DAY_SECONDS / 20) * committerRun.pollers;
  const requests = batches * (1 + 2 / MESSAGES_PER_REQUEST) + polls;
  return [
    millions("S3", "table files and log: puts and lists", puts, "put", prices.s3Puts),
    millions("S3", "table files and log: gets", gets, "get", prices.s3Gets),
    millions("SQS", "manifest queue: requests", requests, "request", prices.sqsRequests),
  ];
}

function functionLines(load: Load, prices: Prices, assumptions: CostAssumptions): CostLine[] {
  const cores = assumptions.converterMegabytes / MEGABYTES_PER_CORE;
  const converterSeconds =
    load.packets / (assumptions.packetsPerCoreSecond * cores) +
    (load.objects * assumptions.secondsToFirstByte) / objectsAwaited(load.bytes / load.objects) +
    load.batches * assumptions.secondsPerBatch;
  const maintenanceRuns = DAY_MINUTES / assumptions.maintenanceMinutes;
  const gigabyteSeconds = (seconds: number, megabytes: number) =>
    (seconds * megabytes) / MEGABYTES_PER_GIGABYTE;
  const others =
    gigabyteSeconds(DAY_MINUTES * committerRun.receiveSeconds, assumptions.committerMegabytes) +
    gigabyteSeconds(maintenanceRuns * assumptions.maintenanceSeconds, assumptions.maintenanceMegabytes);
  const converter = gigabyteSeconds(converterSeconds, assumptions.converterMegabytes);
  const runs = load.batches + DAY_MINUTES + maintenanceRuns;
  return [
    line("Lambda", "converter", converter, "GB-second", prices.lambdaGigabyteSecond),
    line("Lambda", "committer and maintenance", others, "GB-second", prices.lambdaGigabyteSecond),
    millions("Lambda", "runs of functions", runs, "run", prices.lambdaRequests),
  ];
}

/** Objects of so many bytes that a converter waits for at once. */
function objectsAwaited(bytes: number): number {
  const { captureBytes, totalBytes, captures } = converterDefaults.readAhead;
  return bytes > captureBytes ? 1 : Math.min(captures, Math.floor(totalBytes / bytes));
}

function ledgerLines({ objects, commits }: Load, prices: Prices, assumptions: CostAssumptions): CostLine[] {
  // Looked up by the converter and by the committer; the log store's newest item is read for each commit, put and completed.
  const reads = 2 * objects + 2 * commits;
  const writes = objects + 2 * commits;
  const kept = (objects * functionDefaults.ledgerDays * assumptions.ledgerItemBytes) / GB / MONTH_DAYS;
  return [
    millions("DynamoDB", "ledger and log store: writes", writes, "write unit", prices.dynamodbWrites),
    millions("DynamoDB", "ledger and log store: reads", reads, "read unit", prices.dynamodbReads),
    line(
      "DynamoDB",
      `ledger of ${functionDefaults.ledgerDays} days`,
      kept,
      "GB-month",
      prices.dynamodbGigabyteMonth,
    ),
  ];
}

function watchLines({ batches }: Load, prices: Prices, assumptions: CostAssumptions): CostLine[] {
  const logged = ((batches + DAY_MINUTES) * assumptions.logBytesPerBatch) / GB;
  const monthly =
    assumptions.customMetrics * prices.metricMonth +
    assumptions.alarms * prices.alarmMonth +
    prices.dashboardMonth;
  return [
    line("CloudWatch", "logs", logged, "GB", prices.logGigabyte),
    line("CloudWatch", "metrics, alarms, dashboard", 1, "day", monthly / MONTH_DAYS),
  ];
}

function millions(
  service: CostLine["service"],
  what: string,
  amount: number,
  unit: string,
  price: number,
): CostLine {
  return line(service, what, amount, unit, price / MILLION);
}

function line(
  service: CostLine["service"],
  what: string,
  amount: number,
  unit: string,
  price: number,
): CostLine {
  return { service, what, amount, unit, dollars: amount * price };
}
