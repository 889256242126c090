import { describe, expect, test } from "vitest";
import { concatenated } from "../../../../test/support/captures/capture-builder.ts";
import { decoded } from "../../../../test/support/captures/decode-rows.ts";
import {
  data,
  ethernet,
  extensionHeader,
  fragmentHeader,
  type Ipv6Header,
  ipv6,
  udp,
} from "../../../../test/support/captures/frame-builder.ts";

const UDP = 17;

function packet(header: Partial<Ipv6Header>, payload = udp({}, data(10)), padding = 0) {
  return ethernet(
    0x86dd,
    concatenated(ipv6({ nextHeader: UDP, ...header }, payload), new Uint8Array(padding)),
  );
}

test("all fields of a header (RFC 8200 section 3)", () => {
  expect(decoded(packet({ trafficClass: 0xb8, hopLimit: 255 }))).toEqual({
    ethDst: "02:00:00:00:00:0b",
    ethSrc: "02:00:00:00:00:0a",
    ethType: 0x86dd,
    ipVersion: 6,
    ipProtocol: UDP,
    ipTtl: 255,
    ipDscp: 46,
    ipSrc: "fd00::1",
    ipDst: "fd00::2",
    srcPort: 40_000,
    dstPort: 40_001,
    payloadOffset: 62,
    payloadLength: 10,
    decodeStatus: "ok",
  });
});

test("padding behind the payload length is no payload", () => {
  expect(decoded(packet({}, udp({}, data(2)), 6))).toMatchObject({ payloadLength: 2 });
});

test("a payload length of zero means to the end of the frame (RFC 2675, or the network card's segmentation)", () => {
  expect(decoded(packet({ payloadLength: 0 }))).toMatchObject({ srcPort: 40_000, payloadLength: 10 });
});

test("where no header follows, a payload length of zero is one: what comes is Ethernet's padding", () => {
  const row = decoded(packet({ nextHeader: 59, payloadLength: 0 }, data(0), 6));
  expect(row).toMatchObject({ ipProtocol: 59, payloadOffset: 54, payloadLength: 0, decodeStatus: "ok" });
});

test("another version behind the EtherType of IPv6 is malformed", () => {
  const row = decoded(packet({ version: 4 }));
  expect(row.decodeStatus).toBe("malformed");
  expect(row).not.toHaveProperty("ipVersion");
});

describe("extension headers (RFC 8200 section 4)", () => {
  test.each([
    ["hop-by-hop options", 0],
    ["routing", 43],
    ["destination options", 60],
    ["mobility", 135],
    ["host identity", 139],
    ["shim6", 140],
  ])("%s are stepped over: the protocol is the one behind", (_, nextHeader) => {
    const row = decoded(packet({ nextHeader }, extensionHeader(UDP, 2, udp({}, data(3)))));
    expect(row).toMatchObject({ ipProtocol: UDP, srcPort: 40_000, payloadLength: 3, decodeStatus: "ok" });
  });

  test("an authentication header counts its length in words of four bytes (RFC 4302 section 2.2)", () => {
    const authentication = concatenated(Uint8Array.of(UDP, 4), new Uint8Array(22), udp({}));
    expect(decoded(packet({ nextHeader: 51 }, authentication))).toMatchObject({
      ipProtocol: UDP,
      srcPort: 40_000,
    });
  });

  test("the first fragment has ports, identification and the flag", () => {
    const fragment = fragmentHeader(
      { nextHeader: UDP, offset: 0, more: true, id: 0xfedcba98 },
      udp({}, data(8)),
    );
    expect(decoded(packet({ nextHeader: 44 }, fragment))).toMatchObject({
      ipProtocol: UDP,
      ipId: 0xfedcba98,
      ipFragmentOffset: 0,
      ipMoreFragments: true,
      srcPort: 40_000,
    });
  });

  test("a later fragment has no ports", () => {
    const fragment = fragmentHeader({ nextHeader: UDP, offset: 1448, more: false, id: 5 }, udp({}, data(8)));
    const row = decoded(packet({ nextHeader: 44 }, fragment));
    expect(row).toMatchObject({
      ipProtocol: UDP,
      ipFragmentOffset: 1448,
      ipMoreFragments: false,
      payloadLength: 16,
    });
    expect(row).not.toHaveProperty("srcPort");
  });

  test("no next header, and ESP, leave payload", () => {
    expect(decoded(packet({ nextHeader: 59 }, data(4)))).toMatchObject({ ipProtocol: 59, payloadLength: 4 });
    expect(decoded(packet({ nextHeader: 50 }, data(4)))).toMatchObject({ ipProtocol: 50, payloadLength: 4 });
  });

  test("one that is longer than the packet is malformed; one cut by the capture is truncated", () => {
    const tooLong = packet({ nextHeader: 0, payloadLength: 16 }, extensionHeader(UDP, 2, udp({})));
    expect(decoded(tooLong)).toMatchObject({ ipSrc: "fd00::1", ipProtocol: 0, decodeStatus: "malformed" });
    const cut = packet({ nextHeader: 0 }, extensionHeader(UDP, 2, udp({}))).subarray(0, 70);
    expect(decoded(cut)).toMatchObject({ ipProtocol: 0, decodeStatus: "truncated" });
  });

  test("eight thousand of them, one behind another, are followed to the end", () => {
    let headers = udp({}, data(1));
    headers = concatenated(
      ...new Array<Uint8Array>(8000).fill(extensionHeader(60, 0)),
      extensionHeader(UDP, 0),
      headers,
    );
    expect(decoded(packet({ nextHeader: 60 }, headers))).toMatchObject({ ipProtocol: UDP, srcPort: 40_000 });
  });
});
