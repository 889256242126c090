import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nodeDecompressors } from "../../../../src/node/compression.ts";
import { converterDefaults } from "../../../../src/settings.ts";
import { countExceptions, valueExceptions } from "../../../../test/captures/exceptions.ts";
import { equalValues, type JudgeReport, judge } from "../../../../test/captures/judge-report.ts";
import { rowOf } from "../../../../test/support/captures/decode-rows.ts";
import { PacketDecoder } from "../../src/decode/packet-decoder.ts";
import type { PacketRecord } from "../../src/decode/record/packet-record.ts";
import { readCapture } from "../../src/read/read-capture.ts";

const captures = process.env.DELTACAP_CAPTURES ?? join(import.meta.dirname, "../../../../../shared/captures");
const hasCaptures = existsSync(join(captures, "INDEX.tsv"));
const hasPython = spawnSync("python3", ["--version"]).status === 0;

/** What tshark says of hundreds of CAN frames in UDP, which the table gives rows of their own. */
const canInUdpCapture = "esnetlpn__packets.merged.pcapng";

describe.skipIf(!hasCaptures || !hasPython)("decoded rows of real captures", () => {
  let folder = "";
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "deltacap-oracle-"));
    for (const name of readdirSync(join(captures, "files"))) {
      const rows = await tableRows(name);
      writeFileSync(join(folder, `${name}.jsonl`), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    }
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("are what tshark says, but for the listed exceptions, each of which still occurs", () => {
    const report = join(folder, "report.json");
    const run = spawnSync("python3", [
      join(captures, "tools/compare.py"),
      ...["--oracle", join(captures, "oracle"), "--product", folder],
      ...["--mapping", join(captures, "map.json"), "--index", join(captures, "INDEX.tsv")],
      ...["--show", "100000", "--json", report],
    ]);
    expect(run.stderr.toString()).toBe("");
    const judged = JSON.parse(readFileSync(report, "utf8")) as JudgeReport;
    expect(judge(judged, "jsonl")).toEqual([]);
    expect(equalValues(judged)).toBeGreaterThan(400_000);
    const exceptions = countExceptions.length + valueExceptions.length;
    console.log(`note: ${equalValues(judged)} values equal to tshark's, ${exceptions} listed exceptions`);
  });

  test("CAN frames in UDP: every frame that tshark lists is a row, in order", async () => {
    const rows = (await tableRows(canInUdpCapture)).filter((row) => row.record_number !== null);
    const listed = oracleFrames(canInUdpCapture).flatMap((frame) => {
      const lengths = [frame["can.len"] ?? []].flat();
      return [frame["can.id"] ?? []].flat().map((id, i) => [frame.pkt, id, lengths[i]]);
    });
    expect(rows.map((row) => [row.packet_number, row.can_id, row.can_length])).toEqual(listed);
    expect(listed.length).toBeGreaterThan(600);
  });
});

/** A row by the table's column names, as far as the judge reads them. */
type TableRow = Record<string, number | string | boolean | null>;

async function tableRows(name: string): Promise<TableRow[]> {
  const rows: TableRow[] = [];
  const decoder = new PacketDecoder((record) => rows.push({ capture: name, ...tableRow(record) }));
  const bytes = readFileSync(join(captures, "files", name));
  const chunks = (async function* () {
    yield bytes;
  })();
  await readCapture(
    chunks,
    nodeDecompressors,
    (frame) => decoder.decode(frame),
    converterDefaults,
    async () => {},
  );
  return rows;
}

function tableRow(record: PacketRecord): TableRow {
  const row: TableRow = {
    packet_number: record.packetNumber,
    record_number: record.recordNumber < 0 ? null : record.recordNumber,
    ts: record.hasTime ? `${BigInt(record.seconds) * 1_000_000_000n + BigInt(record.nanoseconds)}` : null,
    interface_id: record.interfaceId < 0 ? null : record.interfaceId,
    link_type: record.linkType,
    captured_length: record.capturedLength,
    original_length: record.originalLength,
  };
  for (const [name, value] of Object.entries(rowOf(record))) {
    row[name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)] = value;
  }
  return row;
}

interface OracleFrame {
  readonly pkt: number;
  readonly "can.id"?: number | number[];
  readonly "can.len"?: number | number[];
}

function oracleFrames(name: string): OracleFrame[] {
  const text = gunzipSync(readFileSync(join(captures, "oracle", `${name}.jsonl.gz`))).toString();
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as OracleFrame);
}
