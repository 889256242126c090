import { expect, test } from "vitest";
import { concatenated } from "../../../../test/support/captures/capture-builder.ts";
import {
  decoded,
  decodedInner,
  decodedRecords,
  rowOf,
} from "../../../../test/support/captures/decode-rows.ts";
import { data, ethernet, ipv4, udp } from "../../../../test/support/captures/frame-builder.ts";
import { canInUdp, canInUdpFrame } from "../../../../test/support/captures/vehicle-frame-builder.ts";

const PORT = 11_898;

function packet(payload: Uint8Array, destination = PORT) {
  return ethernet(0x0800, ipv4({ protocol: 17 }, udp({ destination }, payload)));
}

test("each frame has a row, with the packet's time; the packet's own row has none of their columns", () => {
  const frames = [
    canInUdpFrame({ id: 0x9f1126a, extended: true }, data(8)),
    canInUdpFrame({ id: 0x123 }, data(3)),
    canInUdpFrame({ id: 0x124, remote: true, length: 8 }, data(0)),
  ];
  const bytes = packet(canInUdp(frames));
  expect(decodedRecords(bytes).map(rowOf)[0]).toMatchObject({
    dstPort: PORT,
    payloadOffset: 52,
    payloadLength: 45,
  });
  expect(decodedRecords(bytes).map(rowOf)[0]).not.toHaveProperty("canId");
  expect(decodedInner(bytes)).toEqual([
    {
      canId: 0x9f1126a,
      canExtended: true,
      canRemote: false,
      canError: false,
      canFd: false,
      canLength: 8,
      payloadOffset: 57,
      payloadLength: 8,
      decodeStatus: "ok",
    },
    expect.objectContaining({
      canId: 0x123,
      canExtended: false,
      canLength: 3,
      payloadOffset: 72,
      payloadLength: 3,
    }),
    expect.objectContaining({
      canId: 0x124,
      canRemote: true,
      canLength: 8,
      payloadLength: 0,
      decodeStatus: "ok",
    }),
  ]);
  expect(decodedRecords(bytes, { seconds: 5, nanoseconds: 6 })[3]).toMatchObject({
    recordNumber: 3,
    linkType: 227,
    seconds: 5,
    nanoseconds: 6,
  });
});

test("the stated number of frames ends them; one that is cut is none", () => {
  const frames = [1, 2, 3].map((id) => canInUdpFrame({ id }, data(8)));
  expect(decodedInner(packet(canInUdp(frames, 2)))).toMatchObject([{ canId: 1 }, { canId: 2 }]);
  expect(decodedInner(packet(canInUdp(frames)).subarray(0, 96))).toHaveLength(2);
});

test.each([
  ["another port", packet(canInUdp([canInUdpFrame({ id: 1 }, data(8))]), PORT + 1)],
  ["another version", packet(canInUdp([canInUdpFrame({ id: 1 }, data(8))], 1, 2))],
  ["more than 16 frames", packet(canInUdp([canInUdpFrame({ id: 1 }, data(8))], 17))],
  ["another beginning", packet(concatenated(Uint8Array.of(0), canInUdp([])))],
  ["a header that is cut", packet(canInUdp([]).subarray(0, 9))],
  ["no data", packet(data(0))],
])("%s is a datagram like any other", (_, bytes) => {
  expect(decoded(bytes)).toMatchObject({ payloadOffset: 42, decodeStatus: "ok" });
});
