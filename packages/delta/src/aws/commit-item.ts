import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { TableRefusedError } from "../errors.ts";

/** One commit in the log store's DynamoDB table, as `io.delta.storage.S3DynamoDBLogStore` writes it. */
export interface CommitItem {
  /** Sort key. `%020d.json`. */
  readonly fileName: string;
  /** Relative to `_delta_log`. */
  readonly tempPath: string;
  readonly complete: boolean;
}

/** Seconds that a complete item is kept: until then it tells writers that do not trust listings of the commit. */
const EXPIRATION_DELAY_SECONDS = 86_400;

/** A new, incomplete item. It has no `expireTime`, so that nothing removes it before it is complete. */
export function incompleteItem(
  tablePath: string,
  fileName: string,
  tempPath: string,
): Record<string, AttributeValue> {
  return {
    tablePath: { S: tablePath },
    fileName: { S: fileName },
    tempPath: { S: tempPath },
    complete: { S: "false" },
  };
}

/** Value of `expireTime` for an item completed at `nowMs`: whole seconds, rounded down, as Spark does. */
export function expireTime(nowMs: number): AttributeValue {
  return { N: String(Math.floor(nowMs / 1000) + EXPIRATION_DELAY_SECONDS) };
}

/** Reads an item, whoever wrote it. Throws `TableRefusedError` for one that repair must not act on. */
export function parseCommitItem(item: Record<string, AttributeValue>): CommitItem {
  const { fileName, tempPath, complete } = item;
  const shown = JSON.stringify(item).slice(0, 400);
  if (fileName?.S === undefined || tempPath?.S === undefined || complete?.S === undefined) {
    throw new TableRefusedError(`the log store's item ${shown} lacks what S3DynamoDBLogStore writes`);
  }
  if (fileName.S.includes("/") || fileName.S.startsWith(".") || !isSafe(tempPath.S)) {
    throw new TableRefusedError(
      `the log store's item ${shown} names a file outside of _delta_log: look at it`,
    );
  }
  return { fileName: fileName.S, tempPath: tempPath.S, complete: complete.S === "true" };
}

/** Writers name temporary files differently; any relative path that stays within `_delta_log` will do. */
function isSafe(path: string): boolean {
  const segments = path.split("/");
  return !path.includes("://") && segments.every((part) => part !== "" && part !== "." && part !== "..");
}

/** The version that a commit's file name says; null for other files. */
export function versionOf(fileName: string): number | null {
  const match = /^(\d{20})\.json$/.exec(fileName);
  return match === null ? null : Number(match[1]);
}
