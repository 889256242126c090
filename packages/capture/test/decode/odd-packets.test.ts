import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { concatenated } from "../../../../test/support/captures/capture-builder.ts";
import {
  decoded,
  decodedInner,
  decodedRecords,
  type FrameOptions,
  rowOf,
} from "../../../../test/support/captures/decode-rows.ts";
import {
  data,
  ethernet,
  icmp,
  ipv4,
  ipv6,
  snap,
  tcp,
  udp,
} from "../../../../test/support/captures/frame-builder.ts";
import {
  CanFlag,
  can,
  canXl,
  diagnostic,
  flexRay,
  lin,
  someip,
  tecmp,
  tecmpCan,
  tecmpRecord,
} from "../../../../test/support/captures/vehicle-frame-builder.ts";

const datagram = ipv4({ protocol: 17 }, udp({}, data(4)));
const hello = ethernet(0x0800, datagram);
const bytes = (...values: number[]) => Uint8Array.from(values);
const onIpv4 = (protocol: number, payload: Uint8Array) =>
  decoded(ethernet(0x0800, ipv4({ protocol }, payload)));
const onLink = (linkType: number, frame: Uint8Array, options: FrameOptions = {}) =>
  decoded(frame, { linkType, ...options });
const module = (...records: Uint8Array[]) => ethernet(0x99fe, tecmp({ dataType: 2 }, ...records));

/** Each line of "What odd packets give" in docs/table.md, by what stands in its first column. */
const oddPackets: Readonly<Record<string, () => void>> = {
  "a later IP fragment": () => {
    const row = decoded(ethernet(0x0800, ipv4({ protocol: 17, fragmentOffset: 1480 }, data(40))));
    expect(row).toMatchObject({
      ipProtocol: 17,
      ipFragmentOffset: 1480,
      payloadOffset: 34,
      payloadLength: 40,
    });
    expect(row).not.toHaveProperty("srcPort");
  },
  "a header that the captured bytes end in": () => {
    expect(decoded(hello.subarray(0, 41), { originalLength: 46 })).toMatchObject({
      ipSrc: "10.0.0.1",
      decodeStatus: "truncated",
    });
  },
  "a bad header length, or a total length below the header": () => {
    for (const header of [{ headerWords: 4 }, { totalLength: 19 }]) {
      const row = decoded(ethernet(0x0800, ipv4({ protocol: 17, ...header }, udp({}))));
      expect(row).toMatchObject({ ethType: 0x0800, ipVersion: 4, decodeStatus: "malformed" });
      expect(row).not.toHaveProperty("srcPort");
    }
    expect(onIpv4(6, tcp({ headerWords: 4 }))).toMatchObject({ srcPort: 40_000, decodeStatus: "malformed" });
  },
  "padding behind the IP packet": () => {
    expect(decoded(concatenated(hello, data(14)))).toMatchObject({ payloadOffset: 42, payloadLength: 4 });
  },
  "an IP or UDP length of 0": () => {
    const whole = { payloadLength: 2000, decodeStatus: "ok" };
    const segment = tcp({}, data(2000));
    expect(decoded(ethernet(0x0800, ipv4({ protocol: 6, totalLength: 0 }, segment)))).toMatchObject(whole);
    expect(decoded(ethernet(0x86dd, ipv6({ nextHeader: 6, payloadLength: 0 }, segment)))).toMatchObject(
      whole,
    );
    expect(onIpv4(17, udp({ length: 0 }, data(2000)))).toMatchObject(whole);
  },
  "a frame check sequence": () => {
    const frame = concatenated(ethernet(0x88b5, data(46)), data(4));
    const [record] = decodedRecords(frame, { fcsLength: 4 });
    expect(record).toMatchObject({ payloadLength: 46, frameLength: frame.length });
  },
  "an unknown link type": () => {
    expect(onLink(65_535, hello)).toEqual({
      payloadOffset: 0,
      payloadLength: hello.length,
      decodeStatus: "unsupported",
    });
  },
  "an unknown EtherType or IP protocol": () => {
    expect(decoded(ethernet(0x88b5, data(9)))).toMatchObject({
      ethType: 0x88b5,
      payloadLength: 9,
      decodeStatus: "ok",
    });
    expect(onIpv4(253, data(9))).toMatchObject({ ipProtocol: 253, payloadLength: 9, decodeStatus: "ok" });
  },
  "IP inside GRE, IP-in-IP, VXLAN, GENEVE or GTP": () => {
    const inner = ipv4({ protocol: 17, ttl: 1 }, udp({ source: 9 }));
    const gre = onIpv4(47, concatenated(bytes(0, 0, 8, 0), inner));
    expect(gre).toMatchObject({
      ipTtl: 64,
      ipProtocol: 47,
      payloadOffset: 34,
      payloadLength: 4 + inner.length,
    });
    for (const protocol of [4, 41]) {
      const row = onIpv4(protocol, inner);
      expect(row).toMatchObject({ ipTtl: 64, ipProtocol: protocol, payloadLength: inner.length });
      expect(row).not.toHaveProperty("srcPort");
    }
    for (const destination of [4789, 6081, 2152]) {
      const tunnel = concatenated(data(8), ethernet(0x0800, inner));
      expect(onIpv4(17, udp({ destination }, tunnel))).toMatchObject({
        ipTtl: 64,
        srcPort: 40_000,
        dstPort: destination,
        payloadLength: tunnel.length,
      });
    }
  },
  "IP behind MPLS, PPPoE, NSH or LLC/SNAP": () => {
    const outermost = { ipSrc: "10.0.0.1", srcPort: 40_000, payloadLength: 4, decodeStatus: "ok" };
    const frames = [
      ethernet(0x8847, concatenated(bytes(0, 1, 1, 64), datagram)),
      ethernet(0x8864, concatenated(bytes(0x11, 0, 0, 1, 0, datagram.length + 2, 0, 0x21), datagram)),
      ethernet(0x894f, concatenated(bytes(0, 2, 1, 1, 0, 0, 1, 255), datagram)),
      ethernet(datagram.length + 8, snap(0x0800, datagram)),
    ];
    for (const frame of frames) expect(decoded(frame)).toMatchObject(outermost);
  },
  MACsec: () => {
    const encrypted = decoded(ethernet(0x88e5, concatenated(bytes(0x0c, 0, 0, 0, 0, 1), data(40))));
    expect(encrypted).toMatchObject({
      ethType: 0x88e5,
      payloadOffset: 20,
      payloadLength: 40,
      decodeStatus: "ok",
    });
    const authenticated = concatenated(bytes(0, 0, 0, 0, 0, 1, 8, 0), datagram, data(16));
    expect(decoded(ethernet(0x88e5, authenticated))).toMatchObject({ ethType: 0x88e5, srcPort: 40_000 });
  },
  AVTP: () => {
    expect(decoded(ethernet(0x22f0, data(24)))).toMatchObject({
      ethType: 0x22f0,
      payloadOffset: 14,
      payloadLength: 24,
      decodeStatus: "ok",
    });
  },
  "802.11, also behind radiotap": () => {
    const frame = concatenated(bytes(8, 0), new Uint8Array(22), snap(0x0800, datagram));
    const protectedFrame = concatenated(bytes(8, 0x40), new Uint8Array(22), data(30));
    expect(onLink(105, frame)).toMatchObject({ ethType: 0x0800, srcPort: 40_000 });
    expect(onLink(127, concatenated(bytes(0, 0, 8, 0, 0, 0, 0, 0), frame))).toMatchObject({
      srcPort: 40_000,
    });
    expect(onLink(105, protectedFrame)).toMatchObject({
      payloadOffset: 24,
      payloadLength: 30,
      decodeStatus: "ok",
    });
  },
  "an ICMP error that quotes a packet": () => {
    const row = onIpv4(1, icmp(3, 3, concatenated(new Uint8Array(4), datagram)));
    expect(row).toMatchObject({ icmpType: 3, icmpCode: 3, payloadLength: 4 + datagram.length });
    expect(row).not.toHaveProperty("srcPort");
  },
  "several SOME/IP messages in a packet": () => {
    const messages = concatenated(someip({ method: 1, messageType: 0 }, data(3)), someip({ method: 2 }));
    expect(onIpv4(17, udp({}, messages))).toMatchObject({
      someipMethodId: 1,
      someipCount: 2,
      payloadLength: 3,
    });
  },
  "a SOME/IP-TP segment": () => {
    const segment = someip({ messageType: 0x22 }, concatenated(bytes(0, 0, 5, 0x71), data(16)));
    expect(onIpv4(17, udp({}, segment))).toMatchObject({ someipMessageType: 0x22, payloadLength: 20 });
  },
  "a SOME/IP or DoIP message that began in an earlier TCP segment": () => {
    for (const message of [diagnostic(1, 2, 0x22, 0xf1, 0x90), someip({}, data(40))]) {
      const row = onIpv4(6, tcp({ destination: message.length < 30 ? 13_400 : 30_490 }, message.subarray(9)));
      expect(row).toMatchObject({ payloadOffset: 54, payloadLength: message.length - 9, decodeStatus: "ok" });
      expect(row).not.toHaveProperty("doipPayloadType");
      expect(row).not.toHaveProperty("someipCount");
    }
  },
  "a CAN error frame": () => {
    const row = onLink(227, can(CanFlag.error + 0x80, data(8)));
    expect(row).toMatchObject({ canError: true, decodeStatus: "ok" });
    expect(row).not.toHaveProperty("canId");
  },
  "a CAN remote frame": () => {
    expect(onLink(227, can(CanFlag.remote + 1, data(0), 8))).toMatchObject({
      canRemote: true,
      canLength: 8,
      payloadLength: 0,
      decodeStatus: "ok",
    });
  },
  "CAN XL": () => {
    expect(onLink(227, canXl(0x00aa_0123, data(2048)))).toMatchObject({
      canId: 0x123,
      canLength: 2048,
      canFd: false,
    });
  },
  "LIN and FlexRay": () => {
    expect(onLink(212, lin(data(8)))).toEqual({ payloadOffset: 8, payloadLength: 8, decodeStatus: "ok" });
    expect(onLink(210, flexRay(data(16)))).toEqual({
      payloadOffset: 7,
      payloadLength: 16,
      decodeStatus: "ok",
    });
  },
  "a capture module's record without a time": () => {
    const frame = module(tecmpRecord({ time: 0n }, tecmpCan(1, data(1))));
    expect(decodedRecords(frame, { seconds: 5, nanoseconds: 6 })[1]).toMatchObject({
      seconds: 5,
      nanoseconds: 6,
    });
  },
  "a capture module whose clock was not set": () => {
    // The upper bit says that the clock is not synchronized.
    const frame = module(
      tecmpRecord({ time: 0x8000_0000_0000_0000n + 5_000_000_007n }, tecmpCan(1, data(1))),
    );
    const [own, record] = decodedRecords(frame, { seconds: 1_700_000_000, nanoseconds: 6 });
    expect(own).toMatchObject({ seconds: 1_700_000_000, nanoseconds: 6 });
    expect(record).toMatchObject({ hasTime: true, seconds: 5, nanoseconds: 7 });
  },
  "a capture module's packet inside a module's record": () => {
    const nested = concatenated(module(tecmpRecord({}, tecmpCan(1, data(8)))), data(4));
    const frame = ethernet(0x99fe, tecmp({ dataType: 0x80 }, tecmpRecord({}, nested)));
    expect(decodedInner(frame)).toMatchObject([{ ethType: 0x99fe, payloadLength: nested.length - 4 - 26 }]);
    expect(decodedRecords(frame).map(rowOf)).toHaveLength(2);
  },
};

const document = readFileSync("docs/table.md", "utf8");
const section = document.slice(document.indexOf("## What odd packets give"), document.indexOf("## Queries"));
const lines = [...section.matchAll(/^\| (.+?) \| .+ \|$/gm)].map(([, packet = ""]) => packet).slice(1);

test("docs/table.md has a line for each test below, and no other", () => {
  expect(lines).toEqual(Object.keys(oddPackets));
});

describe("what docs/table.md says of", () => {
  test.each(Object.entries(oddPackets))("%s", (_, check) => check());
});
