import { fileURLToPath } from "node:url";
import type { CaptureResult } from "../../src/ingest/capture-result.ts";
import type { PassedOver } from "../../src/local/file-capture-store.ts";
import type { Leftovers } from "../../src/local/leftovers.ts";
import type { CaptureSource } from "../../src/manifest/capture-store.ts";
import type { Manifest } from "../../src/manifest/manifest.ts";
import type { CheckpointResult } from "../../src/upkeep/checkpoint-table.ts";
import { ExitCode, type Terminal } from "../terminal/command.ts";
import { oneLine } from "../terminal/printable.ts";
import { count, megabytes, type Progress } from "../terminal/progress.ts";
import { folderToExclude, groupRejections } from "./rejections.ts";

/** Vehicles that are named at the end. */
const MAX_VEHICLES = 20;

/** Captures of a known content under another path that are named at the end. */
const MAX_COPIES = 20;

interface Fault {
  readonly capture: string;
  readonly reason: string;
  readonly offset: number;
}

/** What `ingest` prints while it runs and at its end. */
export class IngestReport {
  version: number | null = null;
  readonly #terminal: Terminal;
  readonly #progress: Progress;
  readonly #json: boolean;
  readonly #total: number;
  readonly #again: string;
  readonly #paths: readonly string[];
  readonly #rejected: Fault[] = [];
  /** Captures that were not rejected, by path. */
  readonly #accepted: string[] = [];
  /** By capture: one that is converted again, because its files vanished, is damaged once. */
  readonly #damaged = new Map<string, Fault>();
  /** Captures that were in the table before they were complete. */
  readonly #continued: string[] = [];
  readonly #copies: { readonly capture: string; readonly sameAs: string }[] = [];
  #copyCount = 0;
  readonly #passedOver: PassedOver[] = [];
  readonly #vehicles = new Set<string>();
  #withoutVehicle = 0;
  readonly #failed: { capture: string; reason: string }[] = [];
  #seen = 0;
  #ingested = 0;
  #duplicates = 0;
  #forgotten = 0;
  #empty = 0;
  #packets = 0;
  #packetsSeen = 0;

  /**
   * `paths`: the folders and files that the captures were found in. `again`: the command that ingests captures again whose vehicle
   * was forgotten.
   */
  constructor(
    terminal: Terminal,
    progress: Progress,
    json: boolean,
    total: number,
    paths: readonly string[],
    again: string,
  ) {
    this.#paths = paths;
    this.#terminal = terminal;
    this.#progress = progress;
    this.#json = json;
    this.#total = total;
    this.#again = again;
  }

  passedOver(found: PassedOver): void {
    this.#passedOver.push(found);
    this.#event({ event: "passed over", ...found });
  }

  /** A mistyped pattern would otherwise look like a folder without captures. */
  nothingMatches(): void {
    this.#progress.clear();
    this.#terminal.err("note: --include and --exclude leave no file to ingest\n");
  }

  /** Captures without a vehicle would be noticed only when somebody asks for one. */
  vehicles(sources: readonly CaptureSource[], rule: string): void {
    const without: string[] = [];
    for (const { capture, vehicleId } of sources) {
      if (vehicleId === null) without.push(capture);
      else this.#vehicles.add(vehicleId);
    }
    this.#withoutVehicle = without.length;
    const [first] = without;
    if (first === undefined) return;
    const says =
      without.length === sources.length
        ? `no capture's path matches ${rule}, so vehicle_id is null in all rows`
        : `${count(without.length)} captures' paths do not match ${rule}, so vehicle_id is null in their rows, as in those of ${shown(first)}`;
    this.#progress.clear();
    this.#terminal.err(
      `note: ${says}: name as PATH the folder of the vehicles' folders, or give --vehicle or --key-pattern\n`,
    );
  }

  capture(result: CaptureResult): void {
    const { capture } = result.source;
    this.#seen++;
    if (result.outcome !== "rejected") this.#accepted.push(shown(capture));
    switch (result.outcome) {
      case "converted":
        this.#packetsSeen += result.packets;
        if (result.damage !== undefined) this.#damaged.set(capture, { capture, ...reversed(result.damage) });
        if (result.continues !== undefined) this.#continued.push(capture);
        break;
      case "duplicate":
        if (result.known?.forgottenIn !== undefined) {
          this.#forgotten++;
          break;
        }
        this.#duplicates++;
        if (result.known?.damage !== undefined) {
          this.#damaged.set(capture, { capture, ...reversed(result.known.damage) });
        }
        this.#copy(capture, result.known?.capture ?? result.sameAs ?? capture);
        break;
      case "rejected":
        this.#rejected.push({ capture, reason: result.reason, offset: result.offset });
        break;
      case "empty":
        this.#empty++;
        break;
      case "superseded":
      case "gone":
      case "failed":
        this.#failed.push({ capture, reason: result.reason });
        break;
    }
    this.#event(event(result));
    this.#progress.show(
      () =>
        `${count(this.#seen)} of ${count(this.#total)} captures, ${count(this.#packetsSeen)} packets, version ${this.version ?? "none"}`,
    );
  }

  committed(manifest: Manifest, version: number): void {
    this.version = version;
    this.#ingested += manifest.sources.length;
    const packets = manifest.sources.reduce((sum, source) => sum + source.packets, 0);
    this.#packets += packets;
    const rows = manifest.files.reduce((sum, file) => sum + file.rows, 0);
    const files = manifest.files.length;
    this.#event({ event: "committed", version, captures: manifest.sources.length, files, rows, packets });
  }

  #copy(capture: string, sameAs: string): void {
    if (sameAs === capture) return;
    this.#copyCount++;
    if (this.#copies.length < MAX_COPIES) this.#copies.push({ capture, sameAs });
  }

  /** Its captures are asked for again. */
  sentBack(manifest: Manifest): void {
    this.#seen -= manifest.sources.length;
  }

  /** Only what was written, or failed, is worth a line. */
  checkpoint(result: CheckpointResult | { error: string }): void {
    if ("error" in result) {
      this.#event({ event: "checkpoint failed", reason: result.error });
      this.#progress.clear();
      this.#terminal.err(`the checkpoint failed, and the next run tries again: ${result.error}\n`);
    } else if (result.outcome === "written") {
      this.#event({ event: "checkpoint", version: result.version, files: result.files });
    }
  }

  leftovers({ files, runs }: Leftovers): void {
    if (files.length === 0) return;
    const bytes = files.reduce((sum, file) => sum + file.size, 0);
    this.#event({
      event: "leftovers removed",
      files: files.length,
      bytes,
      began: runs.map(({ began }) => began),
    });
    this.#progress.clear();
    this.#terminal.err(
      `removed ${count(files.length)} files (${megabytes(bytes)}) that an ingest left which was killed: it began at ${runs.map(({ began }) => began).join(", ")}, and no version refers to them\n`,
    );
  }

  interrupted(): void {
    this.#progress.clear();
    this.#terminal.err(
      "interrupted: the captures that are being converted are committed first; a second signal ends the command at once\n",
    );
  }

  finish(): number {
    this.#progress.clear();
    if (this.#json) this.#terminal.out(`${JSON.stringify(this.#summary())}\n`);
    else this.#print();
    if (this.#failed.length > 0) return ExitCode.environment;
    const faults = this.#rejected.length + this.#damaged.size + this.#passedOver.length;
    return faults > 0 ? ExitCode.captures : ExitCode.ok;
  }

  #event(value: object): void {
    if (this.#json) this.#terminal.out(`${JSON.stringify(value)}\n`);
  }

  #summary() {
    return {
      ingested: this.#ingested,
      duplicates: this.#duplicates,
      rejected: this.#rejected,
      damaged: [...this.#damaged.values()],
      empty: this.#empty,
      packets: this.#packets,
      version: this.version,
      vehicles: [...this.#vehicles].slice(0, MAX_VEHICLES),
      vehicle_count: this.#vehicles.size,
      without_vehicle: this.#withoutVehicle,
      ...(this.#forgotten === 0 ? {} : { forgotten: this.#forgotten, again: this.#again }),
      ...(this.#continued.length === 0 ? {} : { continued: this.#continued }),
      ...(this.#copyCount === 0 ? {} : { same_content: this.#copyCount }),
      ...(this.#passedOver.length === 0 ? {} : { passed_over: this.#passedOver }),
      ...(this.#failed.length === 0 ? {} : { failed: this.#failed }),
    };
  }

  #print(): void {
    const out = (line: string) => this.#terminal.out(`${oneLine(line)}\n`);
    for (const { path, reason } of this.#passedOver) out(`left out  ${path}: ${reason}`);
    this.#printRejected(out);
    for (const { capture, reason, offset } of this.#damaged.values()) {
      // At byte 0 nothing was cut off: only the capture's clock was wrong.
      if (offset === 0) out(`damaged   ${shown(capture)}: ${reason}; all its packets are in the table`);
      else
        out(
          `damaged   ${shown(capture)} at byte ${offset}: ${reason}; the packets before it are in the table`,
        );
    }
    for (const { capture, sameAs } of this.#copies) {
      out(`duplicate ${shown(capture)}: its content is that of ${shown(sameAs)}, which is in the table`);
    }
    const unnamed = this.#copyCount - this.#copies.length;
    if (unnamed > 0)
      out(`duplicate ${count(unnamed)} more, whose contents are in the table under other paths`);
    for (const capture of this.#continued) {
      out(
        `grown     ${shown(capture)}: it was ingested before it was complete, so its first packets are in the table twice; the last query of docs/table.md keeps the newest`,
      );
    }
    for (const { capture, reason } of this.#failed) out(`failed    ${shown(capture)}: ${reason}`);
    if (this.#forgotten > 0) {
      out(
        `forgotten ${count(this.#forgotten)} captures were left out, since their vehicle's rows were removed by "deltacap forget". This ingests them again: ${this.#again}`,
      );
    }
    if (this.#vehicles.size > 0) {
      const names = [...this.#vehicles].slice(0, MAX_VEHICLES).join(", ");
      const more =
        this.#vehicles.size > MAX_VEHICLES ? ` and ${count(this.#vehicles.size - MAX_VEHICLES)} more` : "";
      out(`vehicles  ${names}${more}`);
    }
    out(
      `${count(this.#ingested)} captures ingested with ${count(this.#packets)} packets, ${count(this.#duplicates)} were in the table already, ${count(this.#rejected.length)} rejected, ${count(this.#damaged.size)} damaged, ${count(this.#empty)} empty${this.#passedOver.length === 0 ? "" : `, ${count(this.#passedOver.length)} left out`}; the table is at version ${this.version ?? "none"}`,
    );
  }

  #printRejected(out: (line: string) => void): void {
    let isSummary = false;
    for (const { kind, named, unnamed } of groupRejections(this.#rejected)) {
      for (const { capture, reason, offset } of named) {
        out(`rejected  ${shown(capture)} at byte ${offset}: ${reason}`);
      }
      if (unnamed === 0) continue;
      isSummary = true;
      out(`rejected  ${count(unnamed)} more: ${kind}; run again with --json to name each`);
    }
    // A folder of captures that were not looked at must not be advised against.
    if (!isSummary || this.#seen < this.#total) return;
    const rejected = this.#rejected.map(({ capture }) => shown(capture));
    const folder = folderToExclude(rejected, this.#accepted, this.#paths);
    if (folder !== null)
      out(`rejected  most of them are in folders named ${folder}: --exclude '**/${folder}' leaves these out`);
  }
}

function reversed({ offset, reason }: { offset: number; reason: string }) {
  return { reason, offset };
}

function event(result: CaptureResult): object {
  const { source, id, outcome, ...rest } = result;
  const facts = { event: outcome, capture: source.capture, source_id: id };
  if (!("sameAs" in rest)) return { ...facts, ...rest };
  return { ...facts, same_as: rest.sameAs };
}

/** The path that the user knows. */
function shown(capture: string): string {
  return capture.startsWith("file:") ? fileURLToPath(capture) : capture;
}
