import { describe, expect, test } from "vitest";
import { concatenated } from "../../../../test/support/captures/capture-builder.ts";
import { decoded } from "../../../../test/support/captures/decode-rows.ts";
import { data, icmp, ipv4, ipv6, sctp, tcp, udp } from "../../../../test/support/captures/frame-builder.ts";

const LINKTYPE_RAW = 101;

function over(protocol: number, segment: Uint8Array, captured = 20 + segment.length) {
  return decoded(ipv4({ protocol }, segment).subarray(0, captured), { linkType: LINKTYPE_RAW });
}

describe("TCP (RFC 9293 section 3.1)", () => {
  test("ports, numbers, all twelve bits of flags, window", () => {
    const header = { source: 65_535, destination: 80, sequence: 0xfffffffe, acknowledgment: 0x80000000 };
    expect(over(6, tcp({ ...header, flags: 0x1ff, window: 65_535 }, data(5)))).toMatchObject({
      srcPort: 65_535,
      dstPort: 80,
      tcpSeq: 0xfffffffe,
      tcpAck: 0x80000000,
      tcpFlags: 0x1ff,
      tcpWindow: 65_535,
      payloadOffset: 40,
      payloadLength: 5,
      decodeStatus: "ok",
    });
  });

  test("options are stepped over", () => {
    expect(over(6, tcp({ headerWords: 15 }, data(2)))).toMatchObject({ payloadOffset: 80, payloadLength: 2 });
  });

  test.each([0, 4])("a data offset of %i is malformed and keeps the fields before", (headerWords) => {
    const row = over(6, tcp({ headerWords }));
    expect(row).toMatchObject({ srcPort: 40_000, tcpSeq: 1, decodeStatus: "malformed" });
    expect(row).not.toHaveProperty("payloadOffset");
  });

  test("cut in the header nothing of it is there; cut in the options all but the payload", () => {
    const row = over(6, tcp({}), 39);
    expect(row.decodeStatus).toBe("truncated");
    expect(row).not.toHaveProperty("srcPort");
    expect(over(6, tcp({ headerWords: 8 }), 45)).toMatchObject({
      srcPort: 40_000,
      decodeStatus: "truncated",
    });
  });
});

describe("UDP (RFC 768)", () => {
  test("the length ends the payload where it is shorter than what IP leaves", () => {
    expect(over(17, udp({ length: 12 }, data(20)))).toMatchObject({ payloadOffset: 28, payloadLength: 4 });
  });

  test("a length of zero means to the end (RFC 2675 section 4, or the network card's segmentation)", () => {
    expect(over(17, udp({ length: 0 }, data(20)))).toMatchObject({ payloadLength: 20, decodeStatus: "ok" });
  });

  test("a length below the header's is malformed and keeps the ports", () => {
    expect(over(17, udp({ length: 7 }))).toMatchObject({ srcPort: 40_000, decodeStatus: "malformed" });
  });

  test("a length beyond the packet is bounded by it", () => {
    expect(over(17, udp({ length: 65_535 }, data(4)))).toMatchObject({
      payloadLength: 4,
      decodeStatus: "ok",
    });
  });

  test("cut in the header it is truncated, without ports", () => {
    const row = over(17, udp({}), 27);
    expect(row.decodeStatus).toBe("truncated");
    expect(row).not.toHaveProperty("srcPort");
  });
});

describe("SCTP (RFC 9260 section 3.1)", () => {
  test("ports, and the chunks as payload", () => {
    expect(over(132, sctp({ source: 2905, destination: 2906 }, data(16)))).toMatchObject({
      srcPort: 2905,
      dstPort: 2906,
      payloadOffset: 32,
      payloadLength: 16,
    });
  });

  test("cut in the common header it is truncated", () => {
    expect(over(132, sctp({}), 31)).toMatchObject({ ipProtocol: 132, decodeStatus: "truncated" });
  });
});

describe("ICMP (RFC 792, RFC 4443)", () => {
  test("type and code; a quoted packet is payload and gives no ports", () => {
    const quoted = concatenated(new Uint8Array(4), ipv4({ protocol: 17 }, udp({})));
    const row = over(1, icmp(3, 4, quoted));
    expect(row).toMatchObject({ icmpType: 3, icmpCode: 4, payloadOffset: 24, payloadLength: quoted.length });
    expect(row).not.toHaveProperty("srcPort");
  });

  test("ICMPv6 uses the same columns", () => {
    expect(decoded(ipv6({ nextHeader: 58 }, icmp(128, 0)), { linkType: LINKTYPE_RAW })).toMatchObject({
      ipVersion: 6,
      icmpType: 128,
      icmpCode: 0,
    });
  });

  test("cut in the header it is truncated", () => {
    expect(over(1, icmp(8, 0), 23)).toMatchObject({ ipProtocol: 1, decodeStatus: "truncated" });
  });
});
