import { QueryCommand } from "@aws-sdk/client-dynamodb";
import { commitFileName } from "@deltacap/delta";
import { DynamoDbLogStore, S3ObjectStore } from "@deltacap/delta/aws";
import { tableLocation } from "../../../src/aws/table-location.ts";
import { BUCKET, type Cloud, LOG_TABLE } from "./cloud.ts";
import type { Faults } from "./faults.ts";

/** A writer in a process of its own. */
export interface LogWriter {
  readonly log: DynamoDbLogStore;
  readonly store: S3ObjectStore;
  readonly faults: Faults;
}

let tables = 0;

/** One table's log, and what lies in it, looked at from the servers' side. */
export class LogWorld {
  readonly cloud: Cloud;
  readonly location = tableLocation(`s3://${BUCKET}/lake/packets-${++tables}`);
  #ids = 0;

  constructor(cloud: Cloud) {
    this.cloud = cloud;
  }

  async writer(): Promise<LogWriter> {
    const { clients, faults } = await this.cloud.enter();
    const store = new S3ObjectStore(clients.s3, this.location);
    const log = new DynamoDbLogStore({
      dynamodb: clients.dynamodb,
      logTable: LOG_TABLE,
      store,
      tablePath: this.location.tablePath,
      now: () => 1_767_323_045_000,
      newId: () => `id-${++this.#ids}`,
    });
    return { log, store, faults };
  }

  /** The key of a file in the log. */
  key(name: string): string {
    return `${this.location.prefix}/_delta_log/${name}`;
  }

  put(name: string, body: Uint8Array): void {
    this.cloud.s3.storage.bucket(BUCKET).put(this.key(name), body, {});
  }

  remove(name: string): void {
    this.cloud.s3.storage.bucket(BUCKET).remove(this.key(name));
  }

  /** Text of a file in the log; null where there is none. */
  text(name: string): string | null {
    return this.cloud.s3.storage.bucket(BUCKET).current(this.key(name))?.body.toString() ?? null;
  }

  /** Texts of the versions 0, 1, ... Throws where one is missing below another. */
  versions(): string[] {
    const keys = this.cloud.s3.storage.bucket(BUCKET).keys();
    const names = keys
      .filter((key) => key.startsWith(this.key("0")) && key.endsWith(".json"))
      .map((key) => key.slice(this.key("").length));
    names.forEach((name, version) => {
      if (name !== commitFileName(version)) throw new Error(`a hole in the log: ${names.join(", ")}`);
    });
    return names.map((name) => this.text(name) ?? "");
  }

  /** The table's items, in order, as plain texts. */
  async items(): Promise<Record<string, string>[]> {
    const { clients } = await this.cloud.enter();
    const { Items } = await clients.dynamodb.send(
      new QueryCommand({
        TableName: LOG_TABLE,
        ConsistentRead: true,
        KeyConditionExpression: "tablePath = :tablePath",
        ExpressionAttributeValues: { ":tablePath": { S: this.location.tablePath } },
      }),
    );
    return (Items ?? []).map((item) =>
      Object.fromEntries(
        Object.entries(item).map(([name, value]): [string, string] => [name, value.S ?? value.N ?? "?"]),
      ),
    );
  }

  async incompleteItems(): Promise<string[]> {
    const items = await this.items();
    return items.filter(({ complete }) => complete !== "true").map(({ fileName }) => fileName ?? "");
  }
}
