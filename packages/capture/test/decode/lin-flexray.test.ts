import { describe, expect, test } from "vitest";
import { concatenated } from "../../../../test/support/captures/capture-builder.ts";
import { decoded } from "../../../../test/support/captures/decode-rows.ts";
import { data } from "../../../../test/support/captures/frame-builder.ts";
import { flexRay, lin } from "../../../../test/support/captures/vehicle-frame-builder.ts";

describe("LINKTYPE_LIN", () => {
  const onLin = { linkType: 212 };

  test("the data is payload, the padding to four bytes is not", () => {
    expect(decoded(lin(data(8), 6), onLin)).toEqual({
      payloadOffset: 8,
      payloadLength: 6,
      decodeStatus: "ok",
    });
    expect(decoded(lin(data(0)), onLin)).toMatchObject({ payloadLength: 0, decodeStatus: "ok" });
  });

  test("cut in the header it is truncated", () => {
    expect(decoded(lin(data(8)).subarray(0, 7), onLin)).toEqual({ decodeStatus: "truncated" });
  });
});

describe("LINKTYPE_FLEXRAY", () => {
  const onFlexRay = { linkType: 210 };

  test("the length is in words of two bytes; the frame's CRC is no payload", () => {
    const frame = concatenated(flexRay(data(16)), Uint8Array.of(1, 2, 3));
    expect(decoded(frame, onFlexRay)).toEqual({ payloadOffset: 7, payloadLength: 16, decodeStatus: "ok" });
    expect(decoded(flexRay(data(254)), onFlexRay)).toMatchObject({ payloadLength: 254 });
  });

  test("a symbol has no frame header", () => {
    expect(decoded(Uint8Array.of(0x82, 11), onFlexRay)).toEqual({
      payloadOffset: 2,
      payloadLength: 0,
      decodeStatus: "ok",
    });
  });

  test("cut in either header it is truncated", () => {
    expect(decoded(flexRay(data(4)).subarray(0, 1), onFlexRay)).toEqual({ decodeStatus: "truncated" });
    expect(decoded(flexRay(data(4)).subarray(0, 6), onFlexRay)).toEqual({ decodeStatus: "truncated" });
  });
});
