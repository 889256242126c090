import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Frame } from "../../src/capture/frame.ts";
import { readCapture } from "../../src/capture/read-capture.ts";
import { PacketDecoder } from "../../src/decode/packet-decoder.ts";
import { nodeDecompressors } from "../../src/node/compression.ts";
import { converterDefaults } from "../../src/settings.ts";
import { type Row, rowOf } from "../support/decode-rows.ts";
import { fault, hasFaults } from "../support/faults.ts";

/** Rows of a capture's packets; records inside capture modules' packets stand behind their packet. */
async function rowsOf(name: string): Promise<Row[]> {
  const rows: Row[] = [];
  const decoder = new PacketDecoder((record) => rows.push(rowOf(record)));
  const chunks = (async function* () {
    yield new Uint8Array(readFileSync(fault(`captures/${name}`)));
  })();
  await readCapture(chunks, nodeDecompressors, (frame: Frame) => decoder.decode(frame), converterDefaults);
  return rows;
}

describe.skipIf(!hasFaults)("captures that an earlier version got wrong", () => {
  test("an answer behind its acknowledgement in one segment is found", async () => {
    const rows = await rowsOf("doip-two-in-segment.pcap");
    expect(rows[0]).toMatchObject({ udsServiceId: 0x7f, doipCount: 2 });
    // Two diagnostic messages: the columns are the first's.
    expect(rows[2]).toMatchObject({ udsServiceId: 0x7f, doipCount: 2 });
    expect(rows[3]).toMatchObject({ udsServiceId: 0x50, doipCount: 2 });
  });

  test("continuations of a long message are no DoIP, and a header that TCP splits is not truncated", async () => {
    const rows = await rowsOf("doip-split.pcap");
    for (const row of rows.slice(1, 3)) expect(row).not.toHaveProperty("doipPayloadType");
    expect(rows[3]).toMatchObject({ decodeStatus: "ok" });
  });

  test("junk in reserved bytes leaves CAN frames classic", async () => {
    const rows = await rowsOf("can-fd-junk.pcap");
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(row).toMatchObject({ canFd: false, decodeStatus: "ok" });
  });
});
