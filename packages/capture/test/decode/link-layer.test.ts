import { describe, expect, test } from "vitest";
import { byteOrders, concatenated } from "../../../../test/support/captures/capture-builder.ts";
import { decoded } from "../../../../test/support/captures/decode-rows.ts";
import {
  arp,
  data,
  ethernet,
  ipv4,
  ipv6,
  sll,
  sll2,
  snap,
  udp,
  vlanTag,
} from "../../../../test/support/captures/frame-builder.ts";
import {
  CanFlag,
  can,
  canFd,
  canXl,
  cookedCan,
} from "../../../../test/support/captures/vehicle-frame-builder.ts";

const four = ipv4({ protocol: 17 }, udp({}));
const six = ipv6({ nextHeader: 17 }, udp({}));
const cooked = [
  ["LINUX_SLL", 113, sll, 16],
  ["LINUX_SLL2", 276, sll2, 20],
] as const;

test.each([2, 143, 149, 231, 284, 65_535])(
  "link type %i is not known: the whole frame is payload, status unsupported",
  (linkType) => {
    expect(decoded(ethernet(0x0800, four), { linkType })).toEqual({
      payloadOffset: 0,
      payloadLength: 42,
      decodeStatus: "unsupported",
    });
  },
);

describe.each(cooked)("LINKTYPE_%s", (_, linkType, cook, length) => {
  test.each([
    ["IPv4", 0x0800, four, { ipSrc: "10.0.0.1" }],
    ["IPv6", 0x86dd, six, { ipSrc: "fd00::1" }],
    ["ARP", 0x0806, arp(1), { arpOpcode: 1 }],
  ])("%s behind its EtherType; no Ethernet addresses", (_, protocol, payload, expected) => {
    const row = decoded(cook({ protocol }, payload), { linkType });
    expect(row).toMatchObject({ ethType: protocol, decodeStatus: "ok", ...expected });
    expect(row).not.toHaveProperty("ethSrc");
  });

  test("VLAN tags", () => {
    const row = decoded(cook({ protocol: 0x8100 }, vlanTag({ id: 9, type: 0x0800 }, four)), { linkType });
    expect(row).toMatchObject({ vlanId: 9, ethType: 0x0800, ipSrc: "10.0.0.1" });
  });

  test.each(byteOrders)(
    "CAN, CAN FD and CAN XL, which are no EtherTypes, with identifiers in the capture's byte order: %s",
    (order) => {
      const onCan = (protocol: number, frame: Uint8Array) =>
        decoded(cook({ protocol, hardware: 280 }, cookedCan(frame, order)), {
          linkType,
          bigEndian: order === "big-endian",
        });
      const classic = onCan(0x000c, can(CanFlag.extended + 0x18da_f110, data(3)));
      expect(classic).toEqual({
        canId: 0x18da_f110,
        canExtended: true,
        canRemote: false,
        canError: false,
        canFd: false,
        canLength: 3,
        payloadOffset: length + 8,
        payloadLength: 3,
        decodeStatus: "ok",
      });
      expect(onCan(0x000c, can(CanFlag.error + 0x80, data(8)))).toMatchObject({ canError: true });
      expect(onCan(0x000d, canFd(0x123, data(3), 0))).toMatchObject({ canId: 0x123, canFd: true });
      expect(onCan(0x000e, canXl(0x123, data(300)))).toMatchObject({ canId: 0x123, canLength: 300 });
      expect(onCan(0x000c, can(0x123).subarray(0, 7))).toEqual({ decodeStatus: "truncated" });
    },
  );

  test("LLC, and a protocol below the EtherTypes that is not known", () => {
    const llc = decoded(cook({ protocol: 4 }, snap(0x0800, four)), { linkType });
    expect(llc).toMatchObject({ ethType: 0x0800, ipSrc: "10.0.0.1" });
    expect(decoded(cook({ protocol: 1 }, data(6)), { linkType })).toEqual({
      payloadOffset: length,
      payloadLength: 6,
      decodeStatus: "ok",
    });
  });

  test("a netlink message that netfilter queued gives the packet in it; another one is payload", () => {
    // linux/netlink.h, linux/netfilter/nfnetlink_queue.h: a packet (type 0x0300) of IPv4 with attribute 10, its bytes.
    const attributes = concatenated(Uint8Array.of(8, 0, 3, 0, 0, 0, 0, 1, 4 + four.length, 0, 10, 0), four);
    const header = Uint8Array.of(0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    const queued = concatenated(header, Uint8Array.of(2, 0, 0, 0), attributes);
    const netlink = { hardware: 824, protocol: 12 };
    expect(decoded(cook(netlink, queued), { linkType })).toMatchObject({
      ipSrc: "10.0.0.1",
      srcPort: 40_000,
    });
    expect(decoded(cook({ ...netlink, protocol: 0 }, queued), { linkType })).toEqual({
      payloadOffset: length,
      payloadLength: queued.length,
      decodeStatus: "ok",
    });
  });

  test("cut in its header it is truncated", () => {
    expect(decoded(cook({ protocol: 0x0800 }).subarray(0, length - 1), { linkType })).toEqual({
      decodeStatus: "truncated",
    });
  });
});

describe.each([
  ["NULL", 0],
  ["LOOP", 108],
])("LINKTYPE_%s", (_, linkType) => {
  test.each([
    ["IPv4", 2, four, 4],
    ["IPv6 of Linux", 10, six, 6],
    ["IPv6 of NetBSD and OpenBSD", 24, six, 6],
    ["IPv6 of Solaris", 26, six, 6],
    ["IPv6 of FreeBSD", 28, six, 6],
    ["IPv6 of macOS", 30, six, 6],
  ])("%s in both byte orders", (_, family, payload, ipVersion) => {
    for (const header of [Uint8Array.of(0, 0, 0, family), Uint8Array.of(family, 0, 0, 0)]) {
      expect(decoded(concatenated(header, payload), { linkType })).toMatchObject({
        ipVersion,
        srcPort: 40_000,
      });
    }
  });

  test("another family is payload; a cut header truncated", () => {
    expect(decoded(Uint8Array.of(0, 0, 0, 7, 1), { linkType })).toEqual({
      payloadOffset: 4,
      payloadLength: 1,
      decodeStatus: "ok",
    });
    expect(decoded(Uint8Array.of(2, 0, 0), { linkType })).toEqual({ decodeStatus: "truncated" });
  });
});

describe("raw IP", () => {
  test.each([12, 14, 101, 106])("link type %i: the version tells", (linkType) => {
    expect(decoded(four, { linkType })).toMatchObject({ ipVersion: 4, srcPort: 40_000 });
    expect(decoded(six, { linkType })).toMatchObject({ ipVersion: 6, srcPort: 40_000 });
    expect(decoded(data(4), { linkType })).toEqual({
      payloadOffset: 0,
      payloadLength: 4,
      decodeStatus: "ok",
    });
    expect(decoded(data(0), { linkType })).toEqual({ decodeStatus: "truncated" });
  });

  test("LINKTYPE_IPV4 and LINKTYPE_IPV6 hold nothing else", () => {
    expect(decoded(four, { linkType: 228 })).toMatchObject({ ipVersion: 4 });
    expect(decoded(six, { linkType: 229 })).toMatchObject({ ipVersion: 6 });
    expect(decoded(six, { linkType: 228 }).decodeStatus).toBe("malformed");
  });
});

describe("others that carry IP", () => {
  test.each([
    ["PPP", 9, [0x00, 0x21]],
    ["PPP with address and control (RFC 1662)", 50, [0xff, 3, 0x00, 0x21]],
    ["PPP with a protocol of one byte", 9, [0xff, 3, 0x21]],
    ["PPP with direction", 204, [1, 0xff, 3, 0x00, 0x21]],
    ["PPPoE session (RFC 2516)", 51, [0x11, 0, 0, 1, 0, 30, 0x00, 0x21]],
    ["Cisco HDLC", 104, [0x0f, 0, 0x08, 0x00]],
    ["ATM with LLC (RFC 1483)", 100, [0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00]],
    ["IP over InfiniBand (RFC 4391)", 242, [...new Array<number>(40).fill(0), 0x08, 0x00, 0, 0]],
    // linux/netfilter/nfnetlink_log.h: family IPv4, then attribute 9 with the packet.
    ["NFLOG", 239, [2, 0, 0, 0, 32, 0, 9, 0]],
    ["NFLOG that a big-endian machine wrote", 239, [2, 0, 0, 0, 0, 32, 0, 9], true],
  ])("%s", (_, linkType, header, bigEndian = false) => {
    const frame = concatenated(Uint8Array.from(header), four);
    expect(decoded(frame, { linkType, bigEndian })).toMatchObject({
      ipSrc: "10.0.0.1",
      srcPort: 40_000,
      payloadOffset: header.length + 28,
      decodeStatus: "ok",
    });
    expect(decoded(frame.subarray(0, header.length - 1), { linkType }).decodeStatus).toBe("truncated");
  });

  test("a netfilter attribute shorter than its own header ends the search", () => {
    expect(decoded(Uint8Array.of(2, 0, 0, 0, 3, 0, 9, 0, 1, 2), { linkType: 239 })).toMatchObject({
      payloadOffset: 4,
      decodeStatus: "ok",
    });
  });
});

describe("IEEE 802.11", () => {
  const radiotap = Uint8Array.of(0, 0, 10, 0, 0, 0, 0, 0, 0xee, 0xee);
  const dataFrame = (control: number, flags: number, length: number) =>
    concatenated(Uint8Array.of(control, flags), new Uint8Array(length - 2), snap(0x0800, four));

  test.each([
    ["data", 0x08, 0x01, 24],
    ["between access points", 0x08, 0x03, 30],
    ["quality of service", 0x88, 0x02, 26],
    ["quality of service with HT control", 0x88, 0x82, 30],
  ])("%s that is not encrypted is decoded, behind radiotap and alone", (_, control, flags, length) => {
    const frame = dataFrame(control, flags, length);
    expect(decoded(frame, { linkType: 105 })).toMatchObject({ ethType: 0x0800, ipSrc: "10.0.0.1" });
    expect(decoded(concatenated(radiotap, frame), { linkType: 127 })).toMatchObject({ ipSrc: "10.0.0.1" });
  });

  test.each([
    ["encrypted data", 0x08, 0x41, 24],
    ["a frame without data", 0x48, 0x01, 24],
    ["a beacon", 0x80, 0x00, 0],
  ])("%s is payload", (_, control, flags, payloadOffset) => {
    const frame = dataFrame(control, flags, 24);
    expect(decoded(frame, { linkType: 105 })).toEqual({
      payloadOffset,
      payloadLength: frame.length - payloadOffset,
      decodeStatus: "ok",
    });
  });

  test("a radiotap header that is longer than the frame is truncated", () => {
    expect(decoded(radiotap.subarray(0, 9), { linkType: 127 })).toEqual({ decodeStatus: "truncated" });
  });
});
