import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { nodeDecompressors } from "../../../../src/node/compression.ts";
import { converterDefaults } from "../../../../src/settings.ts";
import { type Row, rowOf } from "../../../../test/support/captures/decode-rows.ts";
import { fault, hasFaults } from "../../../../test/support/captures/faults.ts";
import { PacketDecoder } from "../../src/decode/packet-decoder.ts";
import type { Frame } from "../../src/read/frame.ts";
import { readCapture } from "../../src/read/read-capture.ts";

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

  test("a magic cookie does not hide the message behind it", async () => {
    const rows = await rowsOf("someip-magic-cookie.pcap");
    for (const row of rows) expect(row).toMatchObject({ someipServiceId: 0x1111, decodeStatus: "ok" });
    expect(rows.map(({ someipCount }) => someipCount)).toEqual([2, 2, 2, 1]);
  });

  test("messages that break the rules on a port of SOME/IP have their columns and are malformed", async () => {
    const rows = await rowsOf("someip-nonconforming.pcap");
    for (const row of rows) expect(row).toMatchObject({ someipServiceId: 0x1234, someipMethodId: 0x8001 });
    // Packet 5 is a segmented response, and packet 8 has another interface version: both are allowed.
    expect(rows.map(({ decodeStatus }) => decodeStatus)).toEqual([
      ...["malformed", "malformed", "malformed", "malformed", "ok"],
      ...["malformed", "malformed", "ok", "malformed"],
    ]);
    expect(rows[8]).toMatchObject({ someipCount: 2 });
  });

  test("Ethernet records of a TECMP module with and without a frame check sequence lose no byte", async () => {
    const rows = await rowsOf("tecmp-eth-fcs.pcap");
    expect(rows).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ someipServiceId: 0x1234, decodeStatus: "ok" }),
        expect.objectContaining({ arpOpcode: 1, decodeStatus: "ok" }),
      ]),
    );
    expect(rows.filter(({ decodeStatus }) => decodeStatus !== "ok")).toEqual([]);
  });

  test("IP behind a GRE interface in a Linux cooked capture has its columns", async () => {
    const rows = await rowsOf("sll-gre.pcap");
    for (const row of rows) expect(row).toMatchObject({ ipSrc: "10.0.0.1", srcPort: 1111 });
  });

  test("radiotap's flags for padding and the frame check sequence count", async () => {
    const rows = await rowsOf("radiotap-datapad-fcs.pcap");
    const { payloadOffset: first, ...frame1 } = rows[0] ?? {};
    const { payloadOffset: second, ...frame2 } = rows[1] ?? {};
    expect(frame2).toEqual(frame1);
    expect(first).toBeTypeOf("number");
    expect(second).toBeTypeOf("number");
    expect(rows[3]).toMatchObject({ payloadLength: 10 });
  });
});
