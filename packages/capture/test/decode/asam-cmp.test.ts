import { describe, expect, test } from "vitest";
import { Bytes, concatenated } from "../../../../test/support/captures/capture-builder.ts";
import {
  decoded,
  decodedInner,
  decodedRecords,
  type Row,
  rowOf,
} from "../../../../test/support/captures/decode-rows.ts";
import { data, ethernet, ipv4, udp } from "../../../../test/support/captures/frame-builder.ts";
import {
  asamCmp,
  asamCmpCan,
  asamCmpMessage,
} from "../../../../test/support/captures/vehicle-frame-builder.ts";

const ETHER_TYPE = 0x99fe;
const CAN = 1;
const CAN_FD = 2;
const LIN = 3;
const FLEX_RAY = 4;
const ETHERNET = 8;
const IDE = 0x8000_0000;
const RTR = 0x4000_0000;

function inner(...messages: Uint8Array[]): Row[] {
  return decodedInner(ethernet(ETHER_TYPE, asamCmp({}, ...messages)));
}

function can(header: { id: number; flags?: number; length?: number }, length = 8, payloadType = CAN): Row[] {
  return inner(asamCmpMessage({ payloadType }, asamCmpCan(header, data(length))));
}

describe("the packet's own row", () => {
  test("has the device; it is told from TECMP by the version, which is not zero", () => {
    const frame = ethernet(
      ETHER_TYPE,
      asamCmp({ device: 0xbeef }, asamCmpMessage({ payloadType: CAN }, asamCmpCan({ id: 1 }, data(1)))),
    );
    expect(decodedRecords(frame).map(rowOf)[0]).toMatchObject({
      ethType: ETHER_TYPE,
      moduleDeviceId: 0xbeef,
      payloadOffset: 22,
      payloadLength: 33,
      decodeStatus: "ok",
    });
  });

  test.each([2, 3, 0xff])("message type %i is about the module: no records", (messageType) => {
    const frame = ethernet(
      ETHER_TYPE,
      asamCmp({ messageType }, asamCmpMessage({ payloadType: 1 }, data(16))),
    );
    expect(decoded(frame)).toMatchObject({ moduleDeviceId: 0x0102, decodeStatus: "ok" });
  });

  test("cut in the header it is truncated", () => {
    expect(decoded(ethernet(ETHER_TYPE, asamCmp({})).subarray(0, 21)).decodeStatus).toBe("truncated");
  });
});

describe("CAN and CAN FD", () => {
  test("fields, time and interface of each message", () => {
    const message = asamCmpMessage(
      { payloadType: CAN, interfaceId: 0xfedcba98 },
      asamCmpCan({ id: IDE + 0x1abcdef0 }, data(8)),
    );
    const frame = ethernet(ETHER_TYPE, asamCmp({}, message, message));
    expect(decodedInner(frame)[1]).toEqual({
      moduleDeviceId: 0x0102,
      moduleInterfaceId: 0xfedcba98,
      canId: 0x1abcdef0,
      canExtended: true,
      canRemote: false,
      canError: false,
      canFd: false,
      canLength: 8,
      payloadOffset: 94,
      payloadLength: 8,
      decodeStatus: "ok",
    });
    expect(decodedRecords(frame)[2]).toMatchObject({
      recordNumber: 2,
      linkType: 227,
      seconds: 1_700_000_000,
      nanoseconds: 123_456_789,
      capturedLength: 24,
      originalLength: 24,
    });
  });

  test("the time has 64 bits", () => {
    const time = 0xffff_ffff_ffff_ffffn;
    const frame = ethernet(
      ETHER_TYPE,
      asamCmp({}, asamCmpMessage({ payloadType: CAN, time }, asamCmpCan({ id: 1 }, data(0)))),
    );
    expect(decodedRecords(frame)[1]).toMatchObject({ seconds: 18_446_744_073, nanoseconds: 709_551_615 });
  });

  test("an identifier of 11 bits stands in the upper bits, in older modules in the lower ones", () => {
    expect(can({ id: 0x123 * 2 ** 18 })).toMatchObject([{ canId: 0x123, canExtended: false }]);
    expect(can({ id: 0x123 })).toMatchObject([{ canId: 0x123, canExtended: false }]);
    expect(can({ id: 0x7ff * 2 ** 18 })).toMatchObject([{ canId: 0x7ff }]);
    expect(can({ id: 0 })).toMatchObject([{ canId: 0 }]);
  });

  test("remote frames; CAN FD has none, its bit is another one", () => {
    expect(can({ id: RTR + 5 }, 0)).toMatchObject([{ canRemote: true, canId: 5 }]);
    expect(can({ id: RTR + 5 }, 64, CAN_FD)).toMatchObject([
      { canRemote: false, canFd: true, canLength: 64 },
    ]);
  });

  test("error flags make an error frame, the flags of bits that are only told do not", () => {
    expect(can({ id: 5, flags: 0x0001 })).toMatchObject([{ canError: true, canId: 5 }]);
    expect(can({ id: 5, flags: 0x0200 })).toMatchObject([{ canError: true }]);
    expect(can({ id: 5, flags: 0x3c00 }, 8, CAN_FD)).toMatchObject([{ canError: false }]);
  });

  test("the reserved bit of the identifier's field changes nothing", () => {
    expect(can({ id: 0x2000_0000 + 5 })).toMatchObject([{ canId: 5, canError: false, canLength: 8 }]);
  });

  test("a length beyond the message is malformed, as is a message without room for the header", () => {
    expect(can({ id: 5, length: 9 })).toMatchObject([
      { canLength: 9, payloadLength: 8, decodeStatus: "malformed" },
    ]);
    expect(inner(asamCmpMessage({ payloadType: CAN }, data(15)))).toMatchObject([
      { decodeStatus: "malformed" },
    ]);
  });
});

test("LIN and FlexRay messages are frames with lengths", () => {
  const lin = asamCmpMessage({ payloadType: LIN }, Uint8Array.of(0, 0, 0, 0, 0x3c, 0, 0xff, 4, 1, 2, 3, 4));
  const flexRay = asamCmpMessage(
    { payloadType: FLEX_RAY },
    concatenated(new Uint8Array(13), Uint8Array.of(16), data(16)),
  );
  const frame = ethernet(ETHER_TYPE, asamCmp({}, lin, flexRay));
  expect(decodedRecords(frame).slice(1)).toMatchObject([
    { linkType: 212, payloadOffset: 46, payloadLength: 4, decodeStatus: 0 },
    { linkType: 210, payloadOffset: 80, payloadLength: 16, decodeStatus: 0 },
  ]);
  expect(inner(asamCmpMessage({ payloadType: LIN }, data(7)))).toMatchObject([{ decodeStatus: "malformed" }]);
  expect(inner(asamCmpMessage({ payloadType: FLEX_RAY }, data(13)))).toMatchObject([
    { decodeStatus: "malformed" },
  ]);
});

describe("Ethernet", () => {
  const frame = ethernet(0x0800, ipv4({ protocol: 17 }, udp({}, data(100))));
  const payload = (length: number, bytes: Uint8Array) =>
    concatenated(new Bytes("big-endian").u16(0, 0, length).build(), bytes);

  test("all columns are the inner frame's", () => {
    expect(inner(asamCmpMessage({ payloadType: ETHERNET }, payload(frame.length, frame)))).toMatchObject([
      { ipSrc: "10.0.0.1", srcPort: 40_000, payloadLength: 100, moduleInterfaceId: 5 },
    ]);
  });

  test("of a message in segments the first has the headers, the others are bytes", () => {
    const first = asamCmpMessage(
      { payloadType: ETHERNET, flags: 1 << 2 },
      payload(frame.length, frame.subarray(0, 80)),
    );
    const last = asamCmpMessage({ payloadType: ETHERNET, flags: 3 << 2 }, frame.subarray(80));
    const packet = ethernet(ETHER_TYPE, asamCmp({}, first, last));
    expect(decodedRecords(packet)[1]).toMatchObject({ capturedLength: 80, originalLength: frame.length });
    expect(decodedInner(packet)).toMatchObject([
      { srcPort: 40_000, payloadLength: 38, decodeStatus: "ok" },
      { payloadLength: 62, decodeStatus: "unsupported" },
    ]);
  });

  test("a message without room for its header is malformed", () => {
    expect(inner(asamCmpMessage({ payloadType: ETHERNET }, data(5)))).toMatchObject([
      { decodeStatus: "malformed" },
    ]);
  });
});

test.each([5, 6, 7, 9, 0xff])("payload type %i has rows whose link type is not known", (payloadType) => {
  expect(inner(asamCmpMessage({ payloadType }, data(10)))).toMatchObject([
    { moduleInterfaceId: 5, payloadLength: 10, decodeStatus: "unsupported" },
  ]);
});

test("the padding of a short Ethernet frame is no message", () => {
  const packet = asamCmp({}, asamCmpMessage({ payloadType: CAN }, asamCmpCan({ id: 1 }, data(0))));
  expect(decodedInner(ethernet(ETHER_TYPE, concatenated(packet, new Uint8Array(40))))).toHaveLength(1);
});

test("a message cut by the capture is truncated", () => {
  const message = asamCmpMessage({ payloadType: CAN }, asamCmpCan({ id: 1 }, data(8)));
  const frame = ethernet(ETHER_TYPE, asamCmp({}, message));
  expect(decodedInner(frame.subarray(0, 50))).toMatchObject([{ decodeStatus: "truncated" }]);
  expect(decodedInner(frame.subarray(0, 58))).toMatchObject([
    { canId: 1, payloadLength: 4, decodeStatus: "truncated" },
  ]);
});
