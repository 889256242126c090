import type { ObjectStore } from "@deltacap/delta";
import { S3ObjectStore } from "@deltacap/delta/aws";
import { createClients } from "../../src/aws/clients.ts";
import { type TableLocation, tableLocation } from "../../src/aws/table-location.ts";
import { UsageError } from "../terminal/command.ts";

/** The folder of a table on S3. Throws `UsageError` for what is no table's URI. */
export function s3Store(uri: string): ObjectStore {
  return new S3ObjectStore(createClients({}).s3, locationOf(uri));
}

/** Under Spark's usual scheme. Throws `UsageError` for what is no table's URI. */
export function locationOf(uri: string): TableLocation {
  try {
    return tableLocation(uri);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
