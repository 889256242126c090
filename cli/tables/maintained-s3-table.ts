import { commitFileName, readSnapshot, type Snapshot } from "@deltacap/delta";
import { AccountResources } from "../../src/aws/account-resources.ts";
import { type AwsClients, createClients } from "../../src/aws/clients.ts";
import { type DeployedTable, deployedTable } from "../../src/aws/deployed-table.ts";
import { tableLocation } from "../../src/aws/table-location.ts";
import type { Leftovers } from "../../src/local/leftovers.ts";
import { type MaintenancePorts, maintenancePorts } from "../../src/node/maintenance-ports.ts";
import type { FunctionSettings } from "../../src/settings.ts";
import { regionExplained } from "../stack/region.ts";
import { deployedStack, type OpenStack, stackOf } from "../stack/stack.ts";
import { type OptionValues, UsageError } from "../terminal/command.ts";
import { locationOf } from "./s3-table.ts";

/** A table that a command changes: in a folder, or on S3 beside the writers that it has there. */
export interface MaintainedTable {
  readonly ports: MaintenancePorts;
  /** In a folder: files that runs of `ingest` which were killed have put and never committed. */
  leftovers?(): Promise<Leftovers>;
  /** Removes what killed processes left unfinished before this time. On S3 lifecycle rules do. */
  removeUnfinished(beforeMs: number): Promise<void>;
}

type TableSettings = Pick<FunctionSettings, "tableUri" | "tableScheme" | "logStore" | "logTable">;

/** Milliseconds for which the log store keeps a commit's item at least, less an hour for clocks that differ. */
const ITEM_LIFE = 23 * 3_600_000;

/** The stack's own table; a URI that is given as well must be its. */
export async function stackTable(
  uri: string | null,
  name: string,
  options: OptionValues,
  open: OpenStack = deployedStack,
): Promise<MaintainedTable> {
  const wrong = ["log-table", "table-scheme", "conditional"].find((option) => options[option] !== undefined);
  if (wrong !== undefined)
    throw new UsageError(`--${wrong} and --stack ${name}: the stack says how its table's writers commit`);
  const { settings, clients } = await stackOf(open, options);
  const { tableUri } = settings;
  if (uri !== null && locationOf(uri).tablePath !== locationOf(tableUri).tablePath)
    throw new UsageError(`${uri} is not the table of the stack ${name}, which is ${tableUri}`);
  const table = deployedTable(clients, settings);
  if ((await readSnapshot(table.log)) === null)
    throw new UsageError(`the stack ${name} has no table yet: the first commit makes it, in ${tableUri}`);
  return maintained(table);
}

/** A table that no stack tells anything of. */
export async function s3Table(uri: string, options: OptionValues): Promise<MaintainedTable> {
  // What is no URI of a table is told first.
  locationOf(uri);
  const settings = { tableUri: uri, ...logStoreOf(uri, options) };
  const { region } = options;
  const clients = createClients(typeof region === "string" ? { region } : {});
  const table = deployedTable(clients, settings);
  const snapshot = await readSnapshot(table.log).catch((error: unknown) => {
    throw regionExplained(error, { option: true });
  });
  if (snapshot === null) throw new UsageError(`${uri} is no Delta table: it has no _delta_log`);
  if (settings.logStore === "conditional") await requireConditional(uri, table);
  else await requireLogTable(settings, clients, table, snapshot);
  return maintained(table);
}

function maintained({ log, store }: DeployedTable): MaintainedTable {
  return { ports: maintenancePorts(log, store), removeUnfinished: async () => {} };
}

function logStoreOf(uri: string, options: OptionValues): Omit<TableSettings, "tableUri"> {
  const { conditional, "log-table": logTable, "table-scheme": scheme = "s3a" } = options;
  if (scheme !== "s3a" && scheme !== "s3")
    throw new UsageError(`--table-scheme ${scheme}: s3a or s3 is expected`);
  if (conditional === true && logTable === undefined) {
    if (options["table-scheme"] !== undefined)
      throw new UsageError("--table-scheme is for --log-table: without a log store no scheme matters");
    return { logStore: "conditional", tableScheme: scheme, logTable: "" };
  }
  if (conditional === true)
    throw new UsageError("--log-table and --conditional: writers of a table all commit in one way");
  if (typeof logTable !== "string" || logTable === "") {
    throw new UsageError(
      `${uri}: how do the table's writers exclude each other? --stack NAME where a stack writes it, --log-table NAME where Spark's log store does, --conditional where neither does. A wrong guess would overwrite commits`,
    );
  }
  return { logStore: "dynamodb", tableScheme: scheme, logTable };
}

/** Refuses a table that Spark's log store has written: its writers do not look whether a version is there already. */
async function requireConditional(uri: string, { store }: DeployedTable): Promise<void> {
  for await (const { path } of store.list("_delta_log/.tmp/")) {
    throw new UsageError(
      `--conditional: ${uri} has ${path}, which Spark's log store left: give --log-table. Where no writer uses it any more, remove _delta_log/.tmp/ first`,
    );
  }
}

/** Refuses a log store that has commits of the table under another name, or none although there was one within its memory. */
async function requireLogTable(
  settings: TableSettings,
  clients: AwsClients,
  { location, store }: DeployedTable,
  { version }: Snapshot,
): Promise<void> {
  const { logTable, tableScheme } = settings;
  const resources = new AccountResources(clients);
  const other = tableScheme === "s3a" ? "s3" : "s3a";
  const otherPath = tableLocation(settings.tableUri, other).tablePath;
  if (await resources.hasCommits(logTable, otherPath)) {
    throw new UsageError(
      `--log-table ${logTable} has commits of ${otherPath}, whose writers ${location.tablePath} does not exclude: give --table-scheme ${other}, if all of them use it`,
    );
  }
  if (await resources.hasCommits(logTable, location.tablePath)) return;
  const newest = await store.head(`_delta_log/${commitFileName(version)}`);
  if (newest === null || newest.modifiedMs < Date.now() - ITEM_LIFE) return;
  throw new UsageError(
    `--log-table ${logTable} has no commit of ${location.tablePath}, and version ${version} was written within a day: its writers use another log table, or none (--conditional)`,
  );
}
