import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { LogStore } from "@deltacap/delta";
import { ConditionalLogStore } from "@deltacap/delta";
import { DynamoDbLogStore, S3ObjectStore } from "@deltacap/delta/aws";
import type { Ledger } from "../manifest/ledger.ts";
import type { FunctionSettings } from "../settings.ts";
import type { AwsClients } from "./clients.ts";
import { DynamoDbLedger } from "./dynamodb-ledger.ts";
import { type TableLocation, tableLocation } from "./table-location.ts";

/** A table on AWS, as its settings say. */
export interface DeployedTable {
  readonly location: TableLocation;
  readonly store: S3ObjectStore;
  readonly log: LogStore;
  /** The same where it is the one that Spark shares; else null. */
  readonly sharedLog: DynamoDbLogStore | null;
}

/** Returns the table that the settings name. Makes no request. */
export function deployedTable(
  { s3, dynamodb }: Pick<AwsClients, "s3" | "dynamodb">,
  {
    tableUri,
    tableScheme,
    logStore,
    logTable,
  }: Pick<FunctionSettings, "tableUri" | "tableScheme" | "logStore" | "logTable">,
): DeployedTable {
  const location = tableLocation(tableUri, tableScheme);
  const store = new S3ObjectStore(s3, location);
  if (logStore === "conditional") {
    return { location, store, log: new ConditionalLogStore(store), sharedLog: null };
  }
  const { tablePath } = location;
  const log = new DynamoDbLogStore({
    dynamodb,
    logTable,
    store,
    tablePath,
    now: Date.now,
    newId: randomUUID,
  });
  return { location, store, log, sharedLog: log };
}

/** Returns the ledger that the settings name. Makes no request. */
export function deployedLedger(
  { dynamodb }: Pick<AwsClients, "dynamodb">,
  { ledgerTable, ledgerDays }: Pick<FunctionSettings, "ledgerTable" | "ledgerDays">,
): Ledger {
  const keepSeconds = ledgerDays * 86_400;
  return new DynamoDbLedger({ dynamodb, ledgerTable, keepSeconds, now: Date.now, sleep: setTimeout });
}
