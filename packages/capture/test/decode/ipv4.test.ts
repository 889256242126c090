import { expect, test } from "vitest";
import { concatenated } from "../../../../test/support/captures/capture-builder.ts";
import { decoded } from "../../../../test/support/captures/decode-rows.ts";
import {
  data,
  ethernet,
  type Ipv4Header,
  ipv4,
  tcp,
  udp,
} from "../../../../test/support/captures/frame-builder.ts";

const UDP = 17;

function packet(header: Partial<Ipv4Header>, payload = udp({}, data(10)), padding = 0) {
  return ethernet(0x0800, concatenated(ipv4({ protocol: UDP, ...header }, payload), new Uint8Array(padding)));
}

test("all fields of a header (RFC 791 section 3.1)", () => {
  const header = { dscp: 46, id: 0xfedc, ttl: 3, moreFragments: true };
  expect(decoded(packet(header))).toEqual({
    ethDst: "02:00:00:00:00:0b",
    ethSrc: "02:00:00:00:00:0a",
    ethType: 0x0800,
    ipVersion: 4,
    ipProtocol: UDP,
    ipTtl: 3,
    ipDscp: 46,
    ipId: 0xfedc,
    ipFragmentOffset: 0,
    ipMoreFragments: true,
    ipSrc: "10.0.0.1",
    ipDst: "10.0.0.2",
    srcPort: 40_000,
    dstPort: 40_001,
    payloadOffset: 42,
    payloadLength: 10,
    decodeStatus: "ok",
  });
});

test("options are stepped over", () => {
  expect(decoded(packet({ headerWords: 15 }))).toMatchObject({ srcPort: 40_000, payloadOffset: 82 });
});

test("padding behind the total length is no payload", () => {
  expect(decoded(packet({}, udp({}), 18))).toMatchObject({
    payloadOffset: 42,
    payloadLength: 0,
    decodeStatus: "ok",
  });
  const unknownProtocol = packet({ protocol: 253 }, data(6), 20);
  expect(decoded(unknownProtocol)).toMatchObject({ ipProtocol: 253, payloadOffset: 34, payloadLength: 6 });
});

test("a total length of zero, from segmentation left to the network card, means to the end of the frame", () => {
  const row = decoded(packet({ protocol: 6, totalLength: 0 }, tcp({}, data(3000))));
  expect(row).toMatchObject({ srcPort: 40_000, payloadLength: 3000, decodeStatus: "ok" });
});

test("a later fragment has no ports, though its bytes look like some", () => {
  const row = decoded(packet({ fragmentOffset: 1480 }));
  expect(row).toMatchObject({ ipFragmentOffset: 1480, ipMoreFragments: false, ipProtocol: UDP });
  expect(row).toMatchObject({ payloadOffset: 34, payloadLength: 18, decodeStatus: "ok" });
  expect(row).not.toHaveProperty("srcPort");
  expect(row).not.toHaveProperty("dstPort");
});

test("the largest fragment offset is in bytes", () => {
  expect(decoded(packet({ fragmentOffset: 65_528 }))).toMatchObject({ ipFragmentOffset: 65_528 });
});

test.each([0, 4])(
  "a header length of %i words is malformed: no field of it is believed but the version",
  (headerWords) => {
    const row = decoded(packet({ headerWords }));
    expect(row).toMatchObject({ ethType: 0x0800, ipVersion: 4, decodeStatus: "malformed" });
    expect(row).not.toHaveProperty("ipSrc");
    expect(row).not.toHaveProperty("payloadOffset");
  },
);

test("another version behind the EtherType of IPv4 is malformed", () => {
  const row = decoded(packet({ version: 6 }));
  expect(row.decodeStatus).toBe("malformed");
  expect(row).not.toHaveProperty("ipVersion");
});

test("a total length below the header's is malformed and keeps the addresses", () => {
  const row = decoded(packet({ totalLength: 19 }));
  expect(row).toMatchObject({ ipSrc: "10.0.0.1", decodeStatus: "malformed" });
  expect(row).not.toHaveProperty("srcPort");
  expect(decoded(packet({ protocol: 253, totalLength: 19 })).decodeStatus).toBe("malformed");
});

test("a total length that ends inside the transport header is malformed, though the bytes are there", () => {
  const row = decoded(packet({ totalLength: 24 }));
  expect(row.decodeStatus).toBe("malformed");
  expect(row).not.toHaveProperty("srcPort");
});

test("a frame cut in its options is truncated and keeps the addresses", () => {
  const frame = packet({ headerWords: 8 }).subarray(0, 40);
  expect(decoded(frame)).toMatchObject({ ipDst: "10.0.0.2", decodeStatus: "truncated" });
});

test("a payload cut by the snap length is as long as what was captured, and the status ok", () => {
  const frame = packet({}, udp({}, data(1000))).subarray(0, 96);
  expect(decoded(frame, { originalLength: 1042 })).toMatchObject({ payloadLength: 54, decodeStatus: "ok" });
});

test.each([4, 41, 47])("protocol %i is a tunnel: what is inside is payload", (protocol) => {
  const inner = ipv4({ protocol: UDP, ttl: 9 }, udp({ source: 1, destination: 2 }));
  const row = decoded(packet({ protocol }, inner));
  expect(row).toMatchObject({
    ipProtocol: protocol,
    ipTtl: 64,
    payloadLength: inner.length,
    decodeStatus: "ok",
  });
  expect(row).not.toHaveProperty("srcPort");
});
