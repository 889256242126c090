import { expect, test } from "vitest";
import { concatenated } from "../../../../test/support/captures/capture-builder.ts";
import { decoded } from "../../../../test/support/captures/decode-rows.ts";
import { data, ethernet, ipv4, ipv6, udp } from "../../../../test/support/captures/frame-builder.ts";
import { ptp } from "../../../../test/support/captures/vehicle-frame-builder.ts";

test.each([0, 2, 8, 11, 13])("message type %i over Ethernet, as gPTP (IEEE 802.1AS) has it", (type) => {
  const padded = concatenated(ptp({ type, sequence: 0xfedc }), data(2));
  expect(decoded(ethernet(0x88f7, padded))).toMatchObject({
    ethType: 0x88f7,
    ptpMessageType: type,
    ptpSequenceId: 0xfedc,
    payloadOffset: 48,
    payloadLength: 10,
    decodeStatus: "ok",
  });
});

test.each([319, 320])("over UDP port %i (IEEE 1588-2019 annexes C and D)", (destination) => {
  const datagram = udp({ destination }, ptp({ type: 0, sequence: 1 }));
  expect(decoded(ethernet(0x0800, ipv4({ protocol: 17 }, datagram)))).toMatchObject({ ptpMessageType: 0 });
  expect(decoded(ethernet(0x86dd, ipv6({ nextHeader: 17 }, datagram)))).toMatchObject({ ptpSequenceId: 1 });
});

test("version 1 has another header: its bytes are payload", () => {
  const row = decoded(ethernet(0x88f7, ptp({ type: 0, sequence: 1, version: 1 })));
  expect(row).toMatchObject({ payloadOffset: 14, payloadLength: 44, decodeStatus: "ok" });
  expect(row).not.toHaveProperty("ptpMessageType");
});

test("a message length below the header's leaves no payload", () => {
  expect(decoded(ethernet(0x88f7, ptp({ type: 0, sequence: 1, length: 3 })))).toMatchObject({
    payloadLength: 0,
  });
});

test("cut in the header it is truncated", () => {
  const row = decoded(ethernet(0x88f7, ptp({ type: 0, sequence: 1 })).subarray(0, 47));
  expect(row.decodeStatus).toBe("truncated");
  expect(row).not.toHaveProperty("ptpMessageType");
});
