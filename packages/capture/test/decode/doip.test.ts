import { describe, expect, test } from "vitest";
import { Bytes, concatenated } from "../../../../test/support/captures/capture-builder.ts";
import { decoded, type FrameOptions, type Row } from "../../../../test/support/captures/decode-rows.ts";
import { data, ipv4, tcp, udp } from "../../../../test/support/captures/frame-builder.ts";
import { diagnostic, doip } from "../../../../test/support/captures/vehicle-frame-builder.ts";

const PORT = 13_400;

function overTcp(payload: Uint8Array, ports = { destination: PORT }, options: FrameOptions = {}): Row {
  return decoded(ipv4({ protocol: 6 }, tcp(ports, payload)), { linkType: 101, ...options });
}

function overUdp(payload: Uint8Array): Row {
  return decoded(ipv4({ protocol: 17 }, udp({ destination: PORT }, payload)), { linkType: 101 });
}

describe("diagnostic messages (ISO 13400-2) with UDS (ISO 14229-1)", () => {
  test.each([
    ["a request", [0x22, 0xf1, 0x90], 0x22],
    ["a positive answer", [0x62, 0xf1, 0x90, 1], 0x62],
    ["a negative answer", [0x7f, 0x22, 0x31], 0x7f],
  ])("%s gives addresses and service", (_, userData, udsServiceId) => {
    expect(overTcp(diagnostic(0x0e80, 0x1001, ...userData))).toMatchObject({
      doipPayloadType: 0x8001,
      doipSourceAddress: 0x0e80,
      doipTargetAddress: 0x1001,
      udsServiceId,
      payloadOffset: 52,
      payloadLength: userData.length,
      decodeStatus: "ok",
    });
  });

  test("from the entity's port, too", () => {
    const frame = ipv4({ protocol: 6 }, tcp({ source: PORT }, diagnostic(1, 2, 0x62)));
    expect(decoded(frame, { linkType: 101 })).toMatchObject({ udsServiceId: 0x62 });
  });

  test.each([0x8002, 0x8003])("an acknowledgement (0x%s) has addresses and no service", (type) => {
    const row = overTcp(doip({ type }, new Bytes("big-endian").u16(0x1001, 0x0e80).u8(0, 0x22).build()));
    expect(row).toMatchObject({
      doipPayloadType: type,
      doipSourceAddress: 0x1001,
      doipTargetAddress: 0x0e80,
    });
    expect(row).not.toHaveProperty("udsServiceId");
  });

  test("without user data there is no service", () => {
    expect(overTcp(diagnostic(1, 2))).toMatchObject({
      doipTargetAddress: 2,
      payloadLength: 0,
      decodeStatus: "ok",
    });
    expect(overTcp(diagnostic(1, 2))).not.toHaveProperty("udsServiceId");
  });

  test("of several diagnostic messages in a segment the columns are the first's, and all are counted", () => {
    const row = overTcp(concatenated(diagnostic(1, 2, 0x10, 3), diagnostic(4, 5, 0x3e)));
    expect(row).toMatchObject({ doipSourceAddress: 1, udsServiceId: 0x10, payloadLength: 2, doipCount: 2 });
  });

  test.each([
    ["TCP", overTcp],
    ["UDP", overUdp],
  ] as const)("the answer behind its acknowledgement has the columns, over %s", (_, over) => {
    const acknowledgement = doip({ type: 0x8002 }, new Bytes("big-endian").u16(2, 1).u8(0).build());
    const row = over(concatenated(acknowledgement, diagnostic(2, 1, 0x62, 9), acknowledgement));
    expect(row).toMatchObject({
      doipPayloadType: 0x8001,
      udsServiceId: 0x62,
      doipCount: 3,
      payloadLength: 2,
      decodeStatus: "ok",
    });
  });

  test("acknowledgements alone are counted, with the columns of the first", () => {
    const acknowledgement = (source: number) =>
      doip({ type: 0x8002 }, new Bytes("big-endian").u16(source, 1).u8(0).build());
    expect(overTcp(concatenated(acknowledgement(7), acknowledgement(8)))).toMatchObject({
      doipPayloadType: 0x8002,
      doipSourceAddress: 7,
      doipCount: 2,
    });
  });

  test("a length without room for the addresses is malformed; a capture that ends there truncated", () => {
    expect(overTcp(doip({ type: 0x8001 }, data(3)))).toMatchObject({
      doipPayloadType: 0x8001,
      decodeStatus: "malformed",
    });
    const cut = ipv4({ protocol: 6 }, tcp({ destination: PORT }, diagnostic(1, 2, 0x22))).subarray(0, 51);
    expect(decoded(cut, { linkType: 101 })).toMatchObject({
      doipPayloadType: 0x8001,
      decodeStatus: "truncated",
    });
  });
});

describe("other payload types", () => {
  test("a routing activation request has the tester's address, the answer the entity's", () => {
    const request = new Bytes("big-endian").u16(0x0e80).u8(0).u32(0).build();
    expect(overTcp(doip({ type: 5 }, request))).toMatchObject({
      doipPayloadType: 5,
      doipSourceAddress: 0x0e80,
    });
    const answer = new Bytes("big-endian").u16(0x0e80, 0x1000).u8(0x10).u32(0).build();
    expect(overTcp(doip({ type: 6 }, answer))).toMatchObject({
      doipPayloadType: 6,
      doipSourceAddress: 0x1000,
    });
  });

  test("an alive check answer has a source; the request has nothing", () => {
    expect(overTcp(doip({ type: 8 }, Uint8Array.of(0x0e, 0x80)))).toMatchObject({
      doipSourceAddress: 0x0e80,
    });
    expect(overTcp(doip({ type: 7 }))).toMatchObject({
      doipPayloadType: 7,
      payloadLength: 0,
      decodeStatus: "ok",
    });
  });

  test.each([5, 6, 8])("type %i without room for its address is malformed", (type) => {
    expect(overTcp(doip({ type }, data(1)))).toMatchObject({
      doipPayloadType: type,
      decodeStatus: "malformed",
    });
  });

  test("vehicle announcements over UDP, with any protocol version", () => {
    expect(overUdp(doip({ type: 4, version: 3 }, data(33)))).toMatchObject({
      doipPayloadType: 4,
      payloadLength: 33,
    });
    expect(overUdp(doip({ type: 1, version: 0xff }))).toMatchObject({ doipPayloadType: 1 });
  });
});

describe("what is not DoIP", () => {
  test.each([
    ["a version that there is none of, with its inverse", [0x5a, 0xa5, 0x80, 1, 0, 0, 0, 5]],
    ["a payload type that there is none of", [2, 0xfd, 0x5a, 0xa5, 0, 0, 0, 4]],
    ["a type between two ranges", [2, 0xfd, 0, 9, 0, 0, 0, 4]],
    ["a length that no such message has", [2, 0xfd, 0, 5, 0, 0, 1, 0]],
    ["a diagnostic message of gigabytes", [2, 0xfd, 0x80, 1, 0x7f, 0, 0, 0]],
  ])("a continuation that begins with %s", (_, bytes) => {
    const row = overTcp(Uint8Array.from([...bytes, 1, 2, 3, 4, 5]));
    expect(row).not.toHaveProperty("doipPayloadType");
    expect(row).not.toHaveProperty("doipCount");
    expect(row).toMatchObject({ decodeStatus: "ok", payloadLength: 13 });
  });

  test("a type that the standard does not define is DoIP where its length ends with the payload", () => {
    expect(overTcp(doip({ type: 0x7777 }, data(5)))).toMatchObject({
      doipPayloadType: 0x7777,
      payloadLength: 5,
    });
  });

  test.each([1, 2, 5, 7])("the first %i bytes of a header that TCP split: nothing was cut", (length) => {
    const row = overTcp(diagnostic(1, 2, 0x22).subarray(0, length));
    expect(row).toMatchObject({ decodeStatus: "ok", payloadLength: length });
    expect(row).not.toHaveProperty("doipPayloadType");
  });

  test("an inverse that is not one, as in the middle of a message or in TLS", () => {
    expect(overTcp(doip({ type: 0x8001, inverse: 0x03 }, data(8)))).not.toHaveProperty("doipPayloadType");
  });

  test("other ports, unless they are configured", () => {
    const message = diagnostic(1, 2, 0x22);
    expect(overTcp(message, { destination: 13_401 })).not.toHaveProperty("doipPayloadType");
    const settings = { doipPorts: [13_401] };
    expect(overTcp(message, { destination: 13_401 }, { settings })).toMatchObject({
      doipPayloadType: 0x8001,
    });
  });

  test("a header cut by the capture is truncated", () => {
    const cut = ipv4({ protocol: 6 }, tcp({ destination: PORT }, diagnostic(1, 2, 0x22))).subarray(0, 47);
    expect(decoded(cut, { linkType: 101 }).decodeStatus).toBe("truncated");
  });

  test("addresses that TCP sends in the next segment are no error; in a datagram they are missing", () => {
    const begun = diagnostic(1, 2, 0x22).subarray(0, 10);
    expect(overTcp(begun)).toMatchObject({ doipPayloadType: 0x8001, doipCount: 1, decodeStatus: "ok" });
    expect(overUdp(begun)).toMatchObject({ doipPayloadType: 0x8001, decodeStatus: "malformed" });
  });
});
