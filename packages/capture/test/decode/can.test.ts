import { describe, expect, test } from "vitest";
import { decoded } from "../../../../test/support/captures/decode-rows.ts";
import { data } from "../../../../test/support/captures/frame-builder.ts";
import { CanFlag, can, canFd, canXl } from "../../../../test/support/captures/vehicle-frame-builder.ts";

const onCan = { linkType: 227 };

describe("LINKTYPE_CAN_SOCKETCAN", () => {
  test("a frame with an identifier of 11 bits", () => {
    expect(decoded(can(0x7ff, data(8)), onCan)).toEqual({
      canId: 0x7ff,
      canExtended: false,
      canRemote: false,
      canError: false,
      canFd: false,
      canLength: 8,
      payloadOffset: 8,
      payloadLength: 8,
      decodeStatus: "ok",
    });
  });

  test("an identifier of 29 bits, flags removed", () => {
    expect(decoded(can(CanFlag.extended + 0x1fffffff, data(1)), onCan)).toMatchObject({
      canId: 0x1fffffff,
      canExtended: true,
      canRemote: false,
    });
  });

  test("without the extended flag only 11 bits are the identifier", () => {
    expect(decoded(can(0x1ffff123), onCan)).toMatchObject({ canId: 0x123, canExtended: false });
  });

  test("a remote frame states a length and has no data", () => {
    expect(decoded(can(CanFlag.remote + 0x123, data(0), 8), onCan)).toMatchObject({
      canId: 0x123,
      canRemote: true,
      canLength: 8,
      payloadLength: 0,
      decodeStatus: "ok",
    });
  });

  test("an error frame has an error class where others have their identifier: no identifier", () => {
    expect(decoded(can(CanFlag.error + 0x80, data(8)), onCan)).toEqual({
      canRemote: false,
      canError: true,
      canFd: false,
      canLength: 8,
      payloadOffset: 8,
      payloadLength: 8,
      decodeStatus: "ok",
    });
  });

  test("padding behind the data, as raw sockets give it, is no payload", () => {
    expect(decoded(can(0x123, data(8), 3), onCan)).toMatchObject({ canLength: 3, payloadLength: 3 });
  });

  test("cut in the header or the data it is truncated", () => {
    expect(decoded(can(0x123).subarray(0, 7), onCan)).toEqual({ decodeStatus: "truncated" });
    const row = decoded(can(0x123, data(8)).subarray(0, 15), onCan);
    expect(row).toMatchObject({ canId: 0x123, canLength: 8, decodeStatus: "truncated" });
  });
});

describe("junk in the reserved bytes of a classic frame", () => {
  const frame = (flags: number, reserved: number, last: number, length = 8) =>
    Uint8Array.from([0, 0, 1, 0x23, length, flags, reserved, last, 1, 2, 3, 4, 5, 6, 7, 8]);

  test.each([
    ["FDF with bits that are not defined", 0x2d, 0, 0],
    ["FDF with a reserved byte", 0x04, 0x92, 0],
    ["FDF with the byte of a raw length code", 0x04, 0, 9],
    ["no FDF", 0xf8, 0xff, 0xff],
  ])("does not make it CAN FD: %s", (_, flags, reserved, last) => {
    expect(decoded(frame(flags, reserved, last), onCan)).toMatchObject({
      canId: 0x123,
      canFd: false,
      canLength: 8,
      payloadLength: 8,
      decodeStatus: "ok",
    });
  });

  test.each([0x84, 0xff, 0xc0])(
    "in the length (0x%s) makes it no CAN XL: its other bits are reserved",
    (length) => {
      expect(decoded(frame(0, 0, 0, length), onCan)).toMatchObject({
        canId: 0x123,
        decodeStatus: "malformed",
      });
    },
  );
});

describe("CAN FD", () => {
  test("a frame of 72 bytes is one, with eight data bytes or fewer, whatever its reserved bytes hold", () => {
    const frame = new Uint8Array(72);
    frame.set([0, 0, 1, 0x23, 8, 0, 0, 7]);
    expect(decoded(frame, onCan)).toMatchObject({ canFd: true, canLength: 8, payloadLength: 8 });
  });

  test.each([4, 5, 6, 7])("flags %i say that it is one", (flags) => {
    expect(decoded(canFd(0x123, data(64), flags), onCan)).toMatchObject({
      canFd: true,
      canLength: 64,
      payloadLength: 64,
    });
  });

  test("more than eight bytes are one, though writers before the flag existed do not set it", () => {
    expect(decoded(canFd(0x123, data(12), 0), onCan)).toMatchObject({ canFd: true, canLength: 12 });
  });

  test("a length beyond 64 is malformed", () => {
    expect(decoded(can(0x123, data(100), 65), onCan)).toMatchObject({
      canId: 0x123,
      decodeStatus: "malformed",
    });
  });
});

describe("CAN XL", () => {
  test("the priority is the identifier; the length is little endian", () => {
    expect(decoded(canXl(0x00aa0123, data(300)), onCan)).toEqual({
      canId: 0x123,
      canExtended: false,
      canRemote: false,
      canError: false,
      canFd: false,
      canLength: 300,
      payloadOffset: 12,
      payloadLength: 300,
      decodeStatus: "ok",
    });
  });

  test.each([0, 2049])("a length of %i is malformed", (length) => {
    expect(decoded(canXl(1, data(4), length), onCan).decodeStatus).toBe("malformed");
  });

  test("cut in the header or the data it is truncated", () => {
    expect(decoded(canXl(1, data(4)).subarray(0, 11), onCan)).toEqual({ decodeStatus: "truncated" });
    expect(decoded(canXl(1, data(4)).subarray(0, 15), onCan)).toMatchObject({
      canLength: 4,
      decodeStatus: "truncated",
    });
  });
});
