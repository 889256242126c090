import type { Add } from "@deltacap/delta";
import { expect, test } from "vitest";
import { optimizeDefaults } from "../../src/settings.ts";
import { forgetVehicle } from "../../src/upkeep/forget-vehicle.ts";
import { optimizeTable } from "../../src/upkeep/optimize-table.ts";
import { once } from "../support/memory/gated.ts";
import { Random, testSeed } from "../support/random.ts";
import { captureOf, DAY, PacketsWorld, rowId } from "../support/tables/packets-world.ts";

const seed = testSeed(43);
const histories = 6;
const STEPS = 10;
const VEHICLES = ["car-1", "car-2", "car-3"] as const;

/** A table, and in `rows` the ids of those that must be in it with their vehicles. */
class History {
  readonly world = new PacketsWorld();
  readonly rows = new Map<string, string>();
  readonly #random: Random;
  /** Of each file's path, the positions that are deleted. */
  readonly #deleted = new Map<string, Set<number>>();
  #captures = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** What was done, for messages. */
  async step(): Promise<string> {
    const random = this.#random;
    const what =
      this.#captures < 3
        ? "ingest"
        : random.pick(["ingest", "delete", "delete", "optimize", "race", "forget"]);
    if (what === "ingest") await this.ingest();
    if (what === "delete") await this.delete();
    if (what === "optimize") await this.#optimize(null);
    // Another engine deletes rows right before the result is committed.
    if (what === "race") await this.#optimize(once("log.commit", "before", () => this.delete()));
    if (what === "forget") await this.forget();
    return what;
  }

  async ingest(): Promise<void> {
    const before = new Set((await this.world.live()).map(({ path }) => path));
    const captures: Record<string, Uint8Array> = {};
    for (let i = this.#random.between(1, 3); i > 0; i--) {
      const number = ++this.#captures;
      const packets = this.#random.between(1, 30);
      const day = DAY + this.#random.below(2);
      captures[`${this.#random.pick(VEHICLES)}/${number}`] = captureOf(packets, day, number);
    }
    await this.world.ingest(captures);
    for (const add of await this.world.live()) {
      if (before.has(add.path)) continue;
      for (const row of await this.world.rowsOf(add)) this.rows.set(rowId(row), String(row.vehicle_id));
    }
  }

  /** Another engine deletes some more rows of a file. */
  async delete(): Promise<void> {
    const files = await this.world.live();
    if (files.length === 0) return;
    const add = this.#random.pick(files);
    const { path, partitionValues } = add;
    const stored = await this.world.rowsOf({ path, partitionValues });
    const deleted = new Set(this.#deleted.get(path));
    const share = this.#random.pick([0.02, 0.3, 1]);
    for (const [i, row] of stored.entries()) {
      if (!this.#random.chance(share)) continue;
      deleted.add(i);
      this.rows.delete(rowId(row));
    }
    if (deleted.size === 0) return;
    this.#deleted.set(path, deleted);
    const rows = [...deleted].sort((a, b) => a - b);
    await this.world.deleteRows(add, rows, this.#random.pick(["log", "file"]));
  }

  async #optimize(gate: ReturnType<typeof once> | null): Promise<void> {
    const limits = { ...optimizeDefaults, smallBytes: this.#random.pick([1, optimizeDefaults.smallBytes]) };
    const { leftOut, stopped } = await optimizeTable(this.world.ports(gate), limits);
    expect({ leftOut, stopped }).toEqual({ leftOut: [], stopped: null });
  }

  async forget(): Promise<void> {
    const vehicle = this.#random.pick(VEHICLES);
    const { remaining } = await forgetVehicle(vehicle, this.world.ports(), optimizeDefaults);
    expect(remaining).toEqual([]);
    for (const [id, of] of this.rows) if (of === vehicle) this.rows.delete(id);
    const live = await this.world.live();
    const stored = await Promise.all(
      live.map(({ path, partitionValues }: Add) => this.world.rowsOf({ path, partitionValues })),
    );
    expect(stored.flat().filter(({ vehicle_id }) => vehicle_id === vehicle)).toEqual([]);
  }
}

test(`${histories} random histories of appends, deletions, optimize and forget leave the rows of the model (seed ${seed})`, async () => {
  const random = new Random(seed);
  for (let i = 0; i < histories; i++) {
    const history = new History(random);
    const steps: string[] = [];
    for (let step = 0; step < STEPS; step++) {
      steps.push(await history.step());
      const found = (await history.world.rows()).map(rowId);
      const where = `seed ${seed}, history ${i}: ${steps.join(", ")}`;
      expect(found, where).toEqual([...history.rows.keys()].sort());
    }
  }
});
