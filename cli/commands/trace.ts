import { captureVersions } from "../../src/aws/capture-objects.ts";
import { quoted } from "../duckdb/duckdb-types.ts";
import { fateOf, idOf, objectUri, type SourceFate } from "../stack/source-fate.ts";
import {
  type DeployedStack,
  type OpenStack,
  stackOf,
  stackOptions,
  stackOptionsHelp,
} from "../stack/stack.ts";
import { type Command, ExitCode, onlyPositional } from "../terminal/command.ts";
import { count } from "../terminal/progress.ts";

/** The command `trace`. */
export const trace = (open: OpenStack): Command => ({
  name: "trace",
  summary: "what became of a capture in S3",
  help: `Usage: deltacap trace CAPTURE [--stack NAME] [--region NAME] [--json]

CAPTURE is s3://bucket/key, or a source id (the column source_id). For each version of the object that S3 still has, the newest
first: its source id, and whether it was committed (in which version, and in which files), rejected (why), empty, or is not known
yet. Changes nothing. Where captures are encrypted by KMS the objects are read, since their ids come from their content.

${stackOptionsHelp}
  --json           one JSON object a version of the object

Exits 0 when the newest version is in the table, or holds no packet; 1 when it is not, or not all of it.
`,
  options: stackOptions,
  run: async (positionals, options, terminal) => {
    const capture = onlyPositional(positionals, "CAPTURE");
    const isId = /^[0-9a-f]{32}$/.test(capture);
    const named = isId ? null : objectUri(capture, "a capture");
    const stack = await stackOf(open, options);
    const traces = named === null ? [await traceId(stack, capture)] : await traceObject(stack, named);
    for (const line of traces) {
      terminal.out(options.json === true ? `${JSON.stringify(line)}\n` : described(line));
    }
    if (traces.length === 0 && options.json !== true) {
      terminal.out(`${capture} is not in S3: it was deleted, has expired, or is stored under another key.
If its rows are in the table, this query finds its id: select distinct source_id from packets where capture = ${quoted(capture)}\n`);
    }
    const [newest] = traces;
    return newest !== undefined && isWhole(newest) ? ExitCode.ok : ExitCode.captures;
  },
});

interface ObjectFacts {
  readonly source_id: string;
  readonly version_id?: string;
  readonly latest?: boolean;
  readonly bytes?: number;
  readonly uploaded?: string;
}

type Trace = ObjectFacts & SourceFate;

async function traceId(stack: DeployedStack, id: string): Promise<Trace> {
  return { source_id: id, ...(await fateOf(stack, id, null)) };
}

async function traceObject(
  stack: DeployedStack,
  { bucket, key }: { bucket: string; key: string },
): Promise<Trace[]> {
  const traces: Trace[] = [];
  for (const object of await captureVersions(stack.clients.s3, bucket, key)) {
    const id = await idOf(stack, object);
    const { versionId, latest, size, modifiedMs } = object;
    traces.push({
      source_id: id,
      ...(versionId === undefined ? {} : { version_id: versionId }),
      latest,
      bytes: size,
      uploaded: new Date(modifiedMs).toISOString(),
      ...(await fateOf(stack, id, modifiedMs)),
    });
  }
  return traces;
}

function isWhole(trace: Trace): boolean {
  return (
    trace.status === "empty" ||
    (trace.status === "committed" && trace.damage === undefined && trace.forgotten_in === undefined)
  );
}

function described(trace: Trace): string {
  const { source_id, version_id, latest, bytes, uploaded } = trace;
  const object =
    bytes === undefined
      ? []
      : [
          [
            "object",
            `${count(bytes)} bytes, uploaded ${uploaded}${version_id === undefined ? "" : `, version ${version_id}`}${latest === false ? ", replaced since" : ""}`,
          ],
        ];
  const lines = [["source", source_id], ...object, ...fateLines(trace)];
  return `${lines.map(([label = "", text = ""]) => `${label.padEnd(10)}${text}\n`).join("")}`;
}

function fateLines(fate: SourceFate): string[][] {
  if (fate.status === "unknown") return [["unknown", fate.advice]];
  if (fate.status === "empty") return [["empty", "it holds no packet"]];
  if (fate.status === "rejected") return [["rejected", `at byte ${fate.offset}: ${fate.reason}`]];
  const { version, committed, packets, damage, files, told_by, forgotten_in, continues } = fate;
  const when = committed === null ? "the log no longer has that commit" : committed;
  const many = packets === undefined ? "" : `, ${count(packets)} packets`;
  return [
    ["committed", `in version ${version} (${when}${told_by === "log" ? "; by the log" : ""})${many}`],
    ...(damage === undefined ? [] : [["damaged", `at byte ${damage.offset}: ${damage.reason}`]]),
    ...(continues === undefined
      ? []
      : [
          [
            "continues",
            `source ${continues}, an upload of this capture before it was complete: its packets are in the table twice (docs/table.md, "Queries", keeps the newest source of each capture)`,
          ],
        ]),
    ...(forgotten_in === undefined
      ? []
      : [
          [
            "forgotten",
            `in version ${forgotten_in}, with its vehicle: its rows are gone. "deltacap retry --again" ingests it again`,
          ],
        ]),
    ...files.map((file, i) => [i === 0 ? "files" : "", file]),
  ];
}
