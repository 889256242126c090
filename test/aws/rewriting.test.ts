import { randomUUID } from "node:crypto";
import { DynamoDbLogStore, S3ObjectStore } from "@deltacap/delta/aws";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tableLocation } from "../../src/aws/table-location.ts";
import { optimizeDefaults } from "../../src/settings.ts";
import { forgetVehicle } from "../../src/upkeep/forget-vehicle.ts";
import { optimizeTable } from "../../src/upkeep/optimize-table.ts";
import { vacuumTable } from "../../src/upkeep/vacuum-table.ts";
import { BUCKET, Cloud, LOG_TABLE } from "../support/aws/cloud.ts";
import { once } from "../support/memory/gated.ts";
import { captureOf, DAY, PacketsWorld } from "../support/tables/packets-world.ts";

let cloud: Cloud;
beforeAll(async () => {
  cloud = await Cloud.start();
});
afterAll(async () => {
  await cloud.close();
});

/** A table on S3 behind the log store that Spark shares, of three files with rows of four vehicles. */
async function cloudWorld(): Promise<PacketsWorld> {
  const { clients } = await cloud.enter();
  const table = tableLocation(`s3://${BUCKET}/odd prefix+%/${randomUUID()}`);
  const store = new S3ObjectStore(clients.s3, table);
  const log = new DynamoDbLogStore({
    dynamodb: clients.dynamodb,
    logTable: LOG_TABLE,
    store,
    tablePath: table.tablePath,
    now: Date.now,
    newId: randomUUID,
  });
  const world = new PacketsWorld({ store, log });
  await world.ingest({ "car-1/a": captureOf(30), "car-2/a": captureOf(20, DAY, 1) });
  await world.ingest({ "car-1/b": captureOf(10, DAY, 2), "car-3/a": captureOf(5, DAY, 3) });
  await world.ingest({ "car-4/a": captureOf(7, DAY, 4) });
  return world;
}

test("optimize, appends and forget take turns in the DynamoDB log store, and vacuum leaves what is live", async () => {
  const world = await cloudWorld();
  const before = await world.rows();
  const append = once("log.commit", "before", () => world.ingest({ "car-5/a": captureOf(9, DAY, 5) }));
  const optimized = await optimizeTable(world.ports(append), optimizeDefaults);
  // Version 4 is the append's.
  expect(optimized).toMatchObject({ version: 5, commits: 1, removedFiles: 3, givenUp: 0 });
  expect(await world.rows()).toEqual(expect.arrayContaining(before));
  const late = once("log.commit", "before", () => world.ingest({ "car-1/late": captureOf(4, DAY, 6) }));
  const forgotten = await forgetVehicle("car-1", world.ports(late), optimizeDefaults);
  expect(forgotten).toMatchObject({ version: 8, rows: 44, lateFiles: 1, remaining: [] });
  const rows = await world.rows();
  expect(rows.map(({ vehicle_id }) => vehicle_id)).not.toContain("car-1");
  expect(rows).toHaveLength(41);

  const { table } = world.ports();
  const stored = async () => {
    const paths: string[] = [];
    for await (const { path } of table.list("date=")) paths.push(path);
    return paths.sort();
  };
  const live = (await world.live()).map(({ path }) => path);
  expect((await stored()).length).toBeGreaterThan(live.length);
  const ports = { ...world.ports(), now: () => Date.now() + 1_000 };
  const vacuumed = await vacuumTable(ports, { delete: true, retentionMs: 0, allowShortRetention: true });
  expect(vacuumed).toMatchObject({ version: 8, deleted: true, otherFiles: 0, stopped: null });
  expect(await stored()).toEqual(live);
  expect(await world.rows()).toEqual(rows);
});
