import { type CostLine, costAssumptions, type Fleet, type FleetCost, fleetCost } from "../cost/fleet-cost.ts";
import { prices, pricesAsOf } from "../cost/list-prices.ts";
import {
  type Command,
  ExitCode,
  noPositionals,
  type OptionValues,
  required,
  UsageError,
} from "../terminal/command.ts";
import { textTable } from "../terminal/text-table.ts";

/** The command `cost`. */
export const cost: Command = {
  name: "cost",
  summary: "what AWS bills a day for a fleet, from list prices",
  help: `Usage: deltacap cost --vehicles N --objects N --bytes N --packets N [--bundle N] [--json]

Adds up the AWS bill of a day from the list prices of US East (N. Virginia) as of ${pricesAsOf}, without free tiers and discounts, and
shows each service's share. What is kept in S3 is named apart: it depends on how long you keep it.

  --vehicles N    vehicles that upload
  --objects N     objects that each of them uploads a day
  --bytes N       bytes of an object: 50_000, 50KB, 5MB
  --packets N     packets in an object
  --bundle N      captures that the gateway puts into one object, back to back; 1 if it is not given
  --json          one JSON object
`,
  options: {
    vehicles: { type: "string" },
    objects: { type: "string" },
    bytes: { type: "string" },
    packets: { type: "string" },
    bundle: { type: "string" },
    json: { type: "boolean" },
  },
  run: async (positionals, options, terminal) => {
    noPositionals(positionals, "the fleet is told by options");
    const bundle = options.bundle === undefined ? 1 : amount(options, "bundle");
    const fleet = {
      vehicles: amount(options, "vehicles"),
      objectsPerVehicle: amount(options, "objects") / bundle,
      bytesPerObject: amount(options, "bytes") * bundle,
      packetsPerObject: amount(options, "packets") * bundle,
    };
    const bill = fleetCost(fleet, prices, costAssumptions);
    terminal.out(
      options.json === true
        ? `${JSON.stringify({ fleet, pricesAsOf, currency: "USD", period: "day", ...bill })}\n`
        : billText(bill, fleet),
    );
    return ExitCode.ok;
  },
};

const units: Readonly<Record<string, number>> = { "": 1, B: 1, KB: 1e3, MB: 1e6, GB: 1e9, K: 1e3, M: 1e6 };

/** A number greater than zero, with a unit and underscores if it has any. */
function amount(options: OptionValues, name: string): number {
  const text = required(options, name, "N");
  const [, digits = "", unit = ""] = /^([\d_]+(?:\.\d+)?)\s*([A-Za-z]*)$/.exec(text) ?? [];
  const value = Number(digits.replaceAll("_", "")) * (units[unit.toUpperCase()] ?? Number.NaN);
  if (digits === "" || !(value > 0)) {
    throw new UsageError(`--${name} is to be a number above zero, such as 100, 50KB or 5MB, and is ${text}`);
  }
  return value;
}

function billText(bill: FleetCost, fleet: Fleet): string {
  const share = (dollars: number) => `${((100 * dollars) / bill.dollars).toFixed(1)}%`;
  const services = [...new Set(bill.lines.map(({ service }) => service))];
  const perService = services
    .map((service) => ({ service, dollars: sum(bill.lines.filter((line) => line.service === service)) }))
    .sort((a, b) => b.dollars - a.dollars);
  return [
    `${fleetText(fleet)}\nUS dollars a day, list prices of US East (N. Virginia) as of ${pricesAsOf}:\n`,
    textTable(
      ["service", "what", "amount a day", "unit", "$ a day", "share"],
      bill.lines.map((line) => [
        line.service,
        line.what,
        rounded(line.amount),
        line.unit,
        line.dollars.toFixed(2),
        share(line.dollars),
      ]),
    ),
    textTable(
      ["service", "$ a day", "share"],
      [
        ...perService.map(({ service, dollars }) => [service, dollars.toFixed(2), share(dollars)]),
        ["all", bill.dollars.toFixed(2), "100.0%"],
      ],
    ),
    `A vehicle: $${((bill.dollars * 365) / 12 / fleet.vehicles).toFixed(4)} a month.\n` +
      `Not in the sum: each day of captures that is kept costs $${bill.keptCaptures.toFixed(2)} a day, each day of the table $${bill.keptTable.toFixed(2)}.\n`,
  ].join("\n");
}

/** What was read from the options, so that a mistaken unit shows. */
function fleetText({ vehicles, objectsPerVehicle, bytesPerObject, packetsPerObject }: Fleet): string {
  const objects = vehicles * objectsPerVehicle;
  return (
    `${decimal(vehicles)} vehicles x ${decimal(objectsPerVehicle)} objects a day, each of ${byteText(bytesPerObject)} and ${decimal(packetsPerObject)} packets:\n` +
    `${decimal(objects)} objects, ${byteText(objects * bytesPerObject)} and ${decimal(objects * packetsPerObject)} packets a day.`
  );
}

const BYTE_UNITS = ["bytes", "KB", "MB", "GB", "TB", "PB"];

/** Powers of 1,000, as the options take them. */
function byteText(bytes: number): string {
  const power = Math.min(BYTE_UNITS.length - 1, Math.max(0, Math.floor(Math.log10(bytes) / 3)));
  return `${rounded(bytes / 1_000 ** power)} ${BYTE_UNITS[power]}`;
}

function decimal(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 2 });
}

function sum(lines: readonly CostLine[]): number {
  return lines.reduce((total, { dollars }) => total + dollars, 0);
}

function rounded(value: number): string {
  return String(value >= 100 ? Math.round(value) : Number(value.toPrecision(3)));
}
