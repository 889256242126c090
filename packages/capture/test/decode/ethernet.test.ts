import { describe, expect, test } from "vitest";
import { decoded } from "../../../../test/support/captures/decode-rows.ts";
import { arp, data, ethernet, snap, vlanTag } from "../../../../test/support/captures/frame-builder.ts";

const addresses = { ethDst: "02:00:00:00:00:0b", ethSrc: "02:00:00:00:00:0a" };

describe("Ethernet (IEEE 802.3 section 3)", () => {
  test("a type that is not decoded leaves its bytes as payload, status ok", () => {
    expect(decoded(ethernet(0x88b5, data(46)))).toEqual({
      ...addresses,
      ethType: 0x88b5,
      payloadOffset: 14,
      payloadLength: 46,
      decodeStatus: "ok",
    });
  });

  test.each([0, 5, 6, 12, 13])("%i bytes are truncated and have no address", (length) => {
    expect(decoded(ethernet(0x88b5).subarray(0, length))).toEqual({ decodeStatus: "truncated" });
  });

  test("a header without payload has a payload of length zero", () => {
    expect(decoded(ethernet(0x88b5))).toMatchObject({
      payloadOffset: 14,
      payloadLength: 0,
      decodeStatus: "ok",
    });
  });

  test("AVTP (IEEE 1722) and LLDP are told by their type", () => {
    expect(decoded(ethernet(0x22f0, data(24)))).toMatchObject({
      ethType: 0x22f0,
      payloadLength: 24,
      decodeStatus: "ok",
    });
    expect(decoded(ethernet(0x88cc, data(9)))).toMatchObject({ ethType: 0x88cc, payloadLength: 9 });
  });
});

describe("VLAN tags (IEEE 802.1Q section 9.6)", () => {
  test.each([0x8100, 0x88a8, 0x9100])(
    "a tag of type 0x%s gives identifier, priority, and the type behind it",
    (tpid) => {
      const frame = ethernet(tpid, vlanTag({ id: 4094, priority: 5, type: 0x88b5 }, data(10)));
      expect(decoded(frame)).toEqual({
        ...addresses,
        vlanId: 4094,
        vlanPriority: 5,
        ethType: 0x88b5,
        payloadOffset: 18,
        payloadLength: 10,
        decodeStatus: "ok",
      });
    },
  );

  test("identifier 0 and priority 0 are values", () => {
    expect(decoded(ethernet(0x8100, vlanTag({ id: 0, type: 0x88b5 })))).toMatchObject({
      vlanId: 0,
      vlanPriority: 0,
    });
  });

  test("of three tags the outermost two have columns, and the type is the innermost", () => {
    const inner = vlanTag({ id: 3, priority: 3, type: 0x0806 }, arp(1));
    const frame = ethernet(
      0x88a8,
      vlanTag({ id: 1, priority: 1, type: 0x8100 }, vlanTag({ id: 2, priority: 2, type: 0x8100 }, inner)),
    );
    expect(decoded(frame)).toMatchObject({
      vlanId: 1,
      vlanPriority: 1,
      innerVlanId: 2,
      ethType: 0x0806,
      arpOpcode: 1,
    });
  });

  test("a frame cut in a tag is truncated and keeps what was before", () => {
    const frame = ethernet(0x8100, vlanTag({ id: 7, type: 0x8100 }, vlanTag({ id: 8, type: 0x0800 })));
    expect(decoded(frame.subarray(0, 21))).toEqual({
      ...addresses,
      vlanId: 7,
      vlanPriority: 0,
      ethType: 0x8100,
      decodeStatus: "truncated",
    });
  });
});

describe("LLC (IEEE 802.2)", () => {
  test("a length in place of a type ends the payload before the padding, and is no type", () => {
    const frame = ethernet(3, Uint8Array.of(0x42, 0x42, 3, ...new Array<number>(43).fill(0)));
    expect(decoded(frame)).toEqual({ ...addresses, payloadOffset: 14, payloadLength: 3, decodeStatus: "ok" });
  });

  test("behind SNAP with Ethernet's organization code the type is an EtherType", () => {
    const frame = ethernet(8 + 28, snap(0x0806, arp(2)));
    expect(decoded(frame)).toMatchObject({ ethType: 0x0806, arpOpcode: 2, decodeStatus: "ok" });
  });

  test("behind SNAP with another organization code it is not", () => {
    const row = decoded(ethernet(20, snap(0x0806, data(12), 0x00000c)));
    expect(row).toEqual({ ...addresses, payloadOffset: 14, payloadLength: 20, decodeStatus: "ok" });
  });

  test("a frame cut in SNAP is truncated; a length that ends in it is malformed", () => {
    const frame = ethernet(36, snap(0x0806, arp(2)));
    expect(decoded(frame.subarray(0, 20))).toEqual({ ...addresses, decodeStatus: "truncated" });
    expect(decoded(ethernet(5, snap(0x0806, arp(2))))).toEqual({ ...addresses, decodeStatus: "malformed" });
  });
});
