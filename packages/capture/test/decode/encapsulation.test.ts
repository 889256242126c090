import { describe, expect, test } from "vitest";
import { concatenated } from "../../../../test/support/captures/capture-builder.ts";
import { decoded } from "../../../../test/support/captures/decode-rows.ts";
import { arp, data, ethernet, ipv4, ipv6, udp } from "../../../../test/support/captures/frame-builder.ts";

const four = ipv4({ protocol: 17 }, udp({}, data(4)));
const outermost = { ipSrc: "10.0.0.1", srcPort: 40_000, payloadLength: 4, decodeStatus: "ok" };

function behind(type: number, header: readonly number[], payload: Uint8Array = four, captured = 1 << 16) {
  return decoded(ethernet(type, concatenated(Uint8Array.from(header), payload)).subarray(0, captured));
}

describe("MPLS (RFC 3032 section 2.1)", () => {
  test.each([0x8847, 0x8848])(
    "the bottom of the stack leads to the IP that its first nibble says",
    (type) => {
      expect(behind(type, [0, 1, 0, 64, 0, 2, 1, 64])).toMatchObject({ ethType: type, ...outermost });
      expect(behind(type, [0, 2, 1, 64], ipv6({ nextHeader: 17 }, udp({})))).toMatchObject({ ipVersion: 6 });
    },
  );

  test("another payload, and a stack without bottom", () => {
    expect(behind(0x8847, [0, 2, 1, 64], data(4))).toMatchObject({ payloadOffset: 18, payloadLength: 4 });
    expect(behind(0x8847, [0, 1, 0, 64, 0, 1, 0, 64], data(0)).decodeStatus).toBe("truncated");
  });
});

describe("PPPoE (RFC 2516 section 4)", () => {
  test("the session's length ends the payload before the padding", () => {
    const padded = concatenated(four, data(12));
    expect(behind(0x8864, [0x11, 0, 0, 1, 0, 2 + four.length, 0, 0x21], padded)).toMatchObject(outermost);
  });

  test("IPv6, and a protocol that is not IP", () => {
    const six = ipv6({ nextHeader: 17 }, udp({}));
    expect(behind(0x8864, [0x11, 0, 0, 1, 0, 2 + six.length, 0, 0x57], six)).toMatchObject({ ipVersion: 6 });
    expect(behind(0x8864, [0x11, 0, 0, 1, 0, 6, 0xc0, 0x21], data(4))).toMatchObject({
      payloadOffset: 22,
      payloadLength: 4,
      decodeStatus: "ok",
    });
  });

  test("a length that ends in the protocol is malformed, a cut header truncated", () => {
    expect(behind(0x8864, [0x11, 0, 0, 1, 0, 1, 0, 0x21]).decodeStatus).toBe("malformed");
    expect(behind(0x8864, [0x11, 0, 0, 1, 0, 9], data(0), 19).decodeStatus).toBe("truncated");
  });
});

describe("NSH (RFC 8300 section 2.2)", () => {
  test.each([
    ["IPv4", 1, four, { ipVersion: 4 }],
    ["IPv6", 2, ipv6({ nextHeader: 17 }, udp({})), { ipVersion: 6 }],
  ])("%s behind its header", (_, next, payload, expected) => {
    expect(behind(0x894f, [0, 2, 1, next, 0, 0, 1, 255], payload)).toMatchObject(expected);
  });

  test("another payload; a length below the header's", () => {
    expect(behind(0x894f, [0, 2, 1, 3, 0, 0, 1, 255], data(4))).toMatchObject({ payloadOffset: 22 });
    expect(behind(0x894f, [0, 1, 1, 1, 0, 0, 1, 255]).decodeStatus).toBe("malformed");
  });
});

describe("MACsec (IEEE 802.1AE section 9)", () => {
  const tag = (flags: number) => [flags, 0, 0, 0, 0, 1];
  const channel = [1, 2, 3, 4, 5, 6, 0, 1];

  test("encrypted data is payload", () => {
    const row = behind(0x88e5, tag(0x0c), data(40));
    expect(row).toMatchObject({ ethType: 0x88e5, payloadOffset: 20, payloadLength: 40, decodeStatus: "ok" });
    expect(behind(0x88e5, [...tag(0x2c), ...channel], data(40))).toMatchObject({ payloadOffset: 28 });
  });

  test("data that is only authenticated is decoded, without its check value", () => {
    const row = behind(0x88e5, [...tag(0x20), ...channel, 0x88, 0xb5], data(40));
    expect(row).toMatchObject({ ethType: 0x88e5, payloadOffset: 30, payloadLength: 24 });
    const ip = behind(0x88e5, [...tag(0), 0x08, 0x00], concatenated(four, data(16)));
    expect(ip).toMatchObject({ ethType: 0x88e5, ...outermost });
  });

  test.each([0, 1, 15, 16, 17, 20, 21])(
    "of a packet that the capture cut by %i bytes, what stands before the check value stays",
    (cut) => {
      const whole = ethernet(0x88e5, concatenated(Uint8Array.from([...tag(0), 0x08, 0x00]), four, data(16)));
      const row = decoded(whole.subarray(0, whole.length - cut), { originalLength: whole.length });
      const missing = Math.max(0, cut - 16);
      if (missing <= 4) expect(row).toMatchObject({ ...outermost, payloadLength: 4 - missing });
      else expect(row).toMatchObject({ ipSrc: "10.0.0.1", decodeStatus: "truncated" });
    },
  );

  test("cut in its header it is truncated", () => {
    expect(behind(0x88e5, tag(0x0c), data(0), 19).decodeStatus).toBe("truncated");
    expect(behind(0x88e5, [...tag(0x20), ...channel], data(0)).decodeStatus).toBe("truncated");
  });
});

test("behind Cisco MetaData stands another EtherType", () => {
  expect(behind(0x8909, [1, 1, 0, 1, 0, 9, 0x08, 0x06], arp(2))).toMatchObject({ arpOpcode: 2 });
});

test("an Ethernet frame behind IP is payload, also in VXLAN and GENEVE", () => {
  const inner = concatenated(new Uint8Array(8), ethernet(0x0800, ipv4({ protocol: 6, ttl: 1 })));
  for (const destination of [4789, 6081]) {
    const row = decoded(ethernet(0x0800, ipv4({ protocol: 17 }, udp({ destination }, inner))));
    expect(row).toMatchObject({ ipTtl: 64, dstPort: destination, payloadLength: inner.length });
  }
});
