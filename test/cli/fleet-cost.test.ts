import { describe, expect, test } from "vitest";
import { type CostLine, costAssumptions, type Fleet, fleetCost } from "../../cli/cost/fleet-cost.ts";
import { prices } from "../../cli/cost/list-prices.ts";
import { configurationDefaults } from "../../lib/settings/configuration.ts";
import { converterDefaults } from "../../src/settings.ts";

/** A capture of 50 KB a minute from each vehicle: 1,333 objects a second. */
const minutely: Fleet = {
  vehicles: 80_000,
  objectsPerVehicle: 1_440,
  bytesPerObject: 50_000,
  packetsPerObject: 160,
};

const billOf = (fleet: Fleet) => fleetCost(fleet, prices, costAssumptions);

function lineOf(lines: readonly CostLine[], what: string): CostLine {
  const found = lines.find((line) => line.what.startsWith(what));
  if (found === undefined) throw new Error(`no line begins with "${what}"`);
  return found;
}

describe("the bill of a fleet", () => {
  test("has the gateways' puts, which are most of it for small captures: 115.2 million at 5 dollars a million", () => {
    const { lines, dollars } = billOf(minutely);
    const puts = lineOf(lines, "uploads by the gateways");
    expect(puts).toMatchObject({ service: "S3", amount: 115_200_000, dollars: 576 });
    expect(puts.dollars / dollars).toBeGreaterThan(0.5);
  });

  test("is the sum of its lines, none of which is negative", () => {
    const { lines, dollars } = billOf(minutely);
    expect(Math.min(...lines.map((line) => line.dollars))).toBeGreaterThan(0);
    expect(dollars).toBeCloseTo(
      lines.reduce((sum, line) => sum + line.dollars, 0),
      6,
    );
  });

  test("counts the converter's time by packets, objects and batches", () => {
    const { lines } = billOf({
      vehicles: 1,
      objectsPerVehicle: 86_400,
      bytesPerObject: 1,
      packetsPerObject: 200_000,
    });
    // One object a second makes a batch of five: a second for the packets, 0.02 for 16 objects at once, 0.3 for each batch.
    const seconds = 86_400 * (1 + 0.02 / 16) + (86_400 / 5) * 0.3;
    expect(lineOf(lines, "converter").amount).toBeCloseTo((seconds * 1_769) / 1_024, 3);
  });

  test("lets large objects wait one by one, which are not read ahead", () => {
    const secondsOf = (bytesPerObject: number) =>
      (lineOf(billOf({ ...minutely, bytesPerObject }).lines, "converter").amount * 1_024) / 1_769;
    const { captureBytes } = converterDefaults.readAhead;
    const more = secondsOf(captureBytes + 1) - secondsOf(captureBytes);
    expect(more).toBeCloseTo(115_200_000 * 0.02 * (1 - 1 / 16), 0);
  });

  test("of twenty captures an object has a twentieth of the puts, and the same packets and bytes kept", () => {
    const one = billOf(minutely);
    const bundled = billOf({
      ...minutely,
      objectsPerVehicle: minutely.objectsPerVehicle / 20,
      bytesPerObject: minutely.bytesPerObject * 20,
      packetsPerObject: minutely.packetsPerObject * 20,
    });
    expect(lineOf(bundled.lines, "uploads").dollars).toBeCloseTo(576 / 20, 6);
    expect(bundled.keptCaptures).toBeCloseTo(one.keptCaptures, 6);
    expect(bundled.dollars).toBeLessThan(one.dollars / 10);
  });

  test("keeps a ledger item of each object for as long as the setting says", () => {
    const { lines } = billOf({ ...minutely, vehicles: 1, objectsPerVehicle: 1_000_000 });
    // 90 million items of 400 bytes are 36 GB, of which a day costs a thirtieth of a month.
    expect(lineOf(lines, "ledger of 90 days").dollars).toBeCloseTo((36 * 0.25 * 12) / 365, 6);
  });

  test("commits no more often than the interval allows", () => {
    const writes = (vehicles: number) =>
      lineOf(billOf({ ...minutely, vehicles }).lines, "ledger and log store: writes").amount;
    expect(writes(80_000) - 80_000 * 1_440).toBeCloseTo(2 * 8_640, 3);
  });
});

test("the assumptions are the stack's own sizes", () => {
  expect(costAssumptions).toMatchObject({
    batchObjects: configurationDefaults.batchSize,
    batchWindowSeconds: configurationDefaults.batchWindowSeconds,
    converterMegabytes: configurationDefaults.converterMemory,
    committerMegabytes: configurationDefaults.committerMemory,
    maintenanceMegabytes: configurationDefaults.maintenanceMemory,
    maintenanceMinutes: configurationDefaults.maintenanceMinutes,
  });
});
