import { type PacketToWrite, PcapngWriter, PcapWriter } from "@deltacap/capture";
import { Bytes, concatenated } from "../../support/captures/capture-builder.ts";
import {
  arp,
  data,
  ethernet,
  ipv4,
  ipv6,
  sll,
  sll2,
  tcp,
  udp,
  vlanTag,
} from "../../support/captures/frame-builder.ts";
import { linkTypeCaptures } from "../../support/captures/link-type-captures.ts";
import {
  asamCmp,
  asamCmpCan,
  asamCmpMessage,
  CanFlag,
  can,
  canFd,
  cookedCan,
  diagnostic,
  doip,
  flexRay,
  lin,
  moduleTime,
  ptp,
  serviceDiscovery,
  someip,
  tecmp,
  tecmpCan,
  tecmpRecord,
} from "../../support/captures/vehicle-frame-builder.ts";

/** A capture made from the public specifications, of what the real captures lack. */
export interface VehicleCapture {
  /** File name; the ending says the format. */
  readonly name: string;
  readonly linkType: number;
  readonly packets: readonly Uint8Array[];
}

const EtherType = { avtp: 0x22f0, ptp: 0x88f7, captureModule: 0x99fe, vlan: 0x8100 } as const;
const frameCheckSequence = data(4);
const innerUdp = ethernet(0x0800, ipv4({ protocol: 17 }, udp({ source: 1, destination: 2 }, data(30))));

/** LINKTYPE_CAN_SOCKETCAN (tcpdump.org/linktypes): identifier and flags big endian. CAN XL is left out: tshark 4.0 misreads it. */
const canFrames = [
  can(0x123, data(8)),
  can(0x7ff, data(0)),
  can(0, data(1)),
  can(CanFlag.extended + 0x1fff_ffff, data(3)),
  can(CanFlag.extended + 0x123, data(8)),
  can(CanFlag.remote + 0x321, data(0), 4),
  can(CanFlag.remote + CanFlag.extended + 0x18da_f110, data(0), 8),
  can(CanFlag.error + 0x0000_0080, data(8)),
  canFd(0x456, data(12)),
  canFd(CanFlag.extended + 0x1abc_def0, data(64), 5),
  canFd(0x457, data(0), 6),
];

/** TECMP user manual 1.7 (CM CAN Combo user manual, tables 6-2 and 6-3): one data type a packet, one or more records; the older EtherType is unknown to tshark 4.0. */
const tecmpPackets = [
  tecmp(
    { dataType: 0x02, device: 0x0043 },
    tecmpRecord({ interfaceId: 1, time: moduleTime }, tecmpCan(0x123, data(8))),
    tecmpRecord({ interfaceId: 2, time: moduleTime + 1n }, tecmpCan(0x8000_0000 + 0x18da_f110, data(3))),
    tecmpRecord({ interfaceId: 0xfedc_ba98, time: moduleTime + 999_999_999n }, tecmpCan(0x7ff, data(0))),
  ),
  tecmp(
    { dataType: 0x03 },
    tecmpRecord({ flags: 0x0010 }, tecmpCan(0x456, data(64))),
    tecmpRecord({}, tecmpCan(0x8000_0000 + 0x1fff_ffff, data(12))),
  ),
  tecmp(
    { dataType: 0x04 },
    tecmpRecord({}, concatenated(Uint8Array.of(0x3c, 4), data(4), Uint8Array.of(0x9f))),
  ),
  tecmp({ dataType: 0x08 }, tecmpRecord({}, concatenated(Uint8Array.of(7, 0, 0x3c, 16), data(16)))),
  tecmp(
    { dataType: 0x80 },
    tecmpRecord({ interfaceId: 9 }, concatenated(innerUdp, frameCheckSequence)),
    tecmpRecord(
      { interfaceId: 10 },
      concatenated(ethernet(0x0806, arp(2)), new Uint8Array(18), frameCheckSequence),
    ),
  ),
  // A remote frame and an error frame, by the data flags.
  tecmp(
    { dataType: 0x02 },
    tecmpRecord({ flags: 0x0002 }, tecmpCan(0x321, data(0), 8)),
    tecmpRecord({ flags: 0x0008 }, tecmpCan(0x322, data(1))),
  ),
  // A clock that was never set, and says so, counts from the module's start.
  tecmp(
    { dataType: 0x02 },
    tecmpRecord({ time: 0x8000_0000_0000_0000n + 5_000_000_007n }, tecmpCan(1, data(2))),
  ),
  tecmp({ dataType: 0, messageType: 0 }, tecmpRecord({}, data(40))),
];

/** ASAM CMP 1.0.0: header, data messages, payloads of CAN, CAN FD and Ethernet. tshark has no dissector for it before 4.2; Wireshark 4.4.5 read these packets as the table does. */
const asamCmpPackets = [
  asamCmp(
    { device: 0x0102 },
    asamCmpMessage({ payloadType: 1, interfaceId: 1 }, asamCmpCan({ id: 0x123 * 2 ** 18 }, data(8))),
    asamCmpMessage(
      { payloadType: 1, interfaceId: 2 },
      asamCmpCan({ id: 0x8000_0000 + 0x18da_f110 }, data(3)),
    ),
  ),
  asamCmp({}, asamCmpMessage({ payloadType: 2 }, asamCmpCan({ id: 0x456 * 2 ** 18 }, data(64)))),
  asamCmp(
    {},
    asamCmpMessage(
      { payloadType: 8 },
      concatenated(new Bytes("big-endian").u16(0, 0, innerUdp.length).build(), innerUdp),
    ),
  ),
  asamCmp({ messageType: 3 }, asamCmpMessage({ payloadType: 1 }, data(16))),
];

/** IEEE 1722-2016 clause 4.4: subtype, stream valid and version, then what the subtype says. */
const avtpPackets = [
  // TSCF: a control stream with one CAN message (ACF), clause 9.
  concatenated(
    Uint8Array.of(0x05, 0x81, 0, 0),
    data(8),
    data(4),
    Uint8Array.of(0, 0, 0, 24, 0, 0, 0, 0),
    data(24),
  ),
  // AAF: audio, clause 7.
  concatenated(
    Uint8Array.of(0x02, 0x81, 3, 0),
    data(8),
    data(4),
    Uint8Array.of(2, 5, 2, 16, 0, 8, 0, 0),
    data(8),
  ),
  // ADP of IEEE 1722.1.
  concatenated(Uint8Array.of(0xfa, 0, 0x50, 56), data(64)),
];

const TESTER = 0x0e80;
const ENGINE = 0x1001;
const overTcp = (payload: Uint8Array, sequence: number) =>
  ethernet(
    0x0800,
    ipv4({ protocol: 6 }, tcp({ source: 50_000, destination: 13_400, sequence, flags: 0x18 }, payload)),
  );
const fromEntity = (payload: Uint8Array, sequence: number) =>
  ethernet(
    0x0800,
    ipv4({ protocol: 6 }, tcp({ source: 13_400, destination: 50_000, sequence, flags: 0x18 }, payload)),
  );

/** ISO 13400-2 section 7 over TCP, with ISO 14229-1 in the diagnostic messages. */
const doipPackets = [
  overTcp(doip({ type: 5 }, new Bytes("big-endian").u16(TESTER).u8(0).u32(0).build()), 1),
  fromEntity(doip({ type: 6 }, new Bytes("big-endian").u16(TESTER, ENGINE).u8(0x10).u32(0).build()), 1),
  overTcp(diagnostic(TESTER, ENGINE, 0x10, 0x03), 16),
  fromEntity(doip({ type: 0x8002 }, new Bytes("big-endian").u16(ENGINE, TESTER).u8(0).build()), 18),
  fromEntity(diagnostic(ENGINE, TESTER, 0x50, 0x03, 0, 50, 1, 244), 31),
  overTcp(diagnostic(TESTER, ENGINE, 0x22, 0xf1, 0x90), 30),
  fromEntity(diagnostic(ENGINE, TESTER, 0x7f, 0x22, 0x31), 49),
  overTcp(concatenated(diagnostic(TESTER, ENGINE, 0x3e, 0), diagnostic(TESTER, ENGINE, 0x11, 1)), 45),
  ethernet(0x0800, ipv4({ protocol: 17 }, udp({ source: 50_001, destination: 13_400 }, doip({ type: 1 })))),
];

const onSomeipPort = (payload: Uint8Array) => udp({ source: 30_490, destination: 30_490 }, payload);

/** AUTOSAR PRS_SOMEIPProtocol, IEEE 802.1AS, IEEE 802.1Q: what else a vehicle's Ethernet carries. */
const ethernetPackets = [
  ethernet(0x0800, ipv4({ protocol: 17 }, onSomeipPort(someip({}, data(12))))),
  ethernet(
    0x0800,
    ipv4({ protocol: 17 }, onSomeipPort(concatenated(someip({ method: 1, messageType: 0 }), someip({})))),
  ),
  ethernet(
    0x0800,
    ipv4({ protocol: 17 }, onSomeipPort(someip({ method: 1, messageType: 0x80, returnCode: 9 }, data(4)))),
  ),
  ethernet(0x86dd, ipv6({ nextHeader: 17 }, onSomeipPort(serviceDiscovery()))),
  ethernet(EtherType.ptp, ptp({ type: 0, sequence: 0xfffe })),
  ethernet(EtherType.ptp, ptp({ type: 8, sequence: 0xfffe })),
  ethernet(
    0x0800,
    ipv4({ protocol: 17 }, udp({ source: 319, destination: 319 }, ptp({ type: 1, sequence: 7 }))),
  ),
  ethernet(EtherType.vlan, vlanTag({ id: 42, priority: 5, type: EtherType.avtp }, avtpPackets[1])),
];

const tagged = (packet: Uint8Array) =>
  ethernet(EtherType.vlan, vlanTag({ id: 7, type: EtherType.captureModule }, packet));

export const vehicleCaptures: readonly VehicleCapture[] = [
  { name: "can-socketcan.pcap", linkType: 227, packets: canFrames },
  { name: "can-socketcan.pcapng", linkType: 227, packets: canFrames },
  {
    name: "can-sll.pcap",
    linkType: 113,
    packets: canFrames.slice(0, 8).map((frame) => sll({ protocol: 0x000c, hardware: 280 }, cookedCan(frame))),
  },
  {
    name: "can-fd-sll2.pcap",
    linkType: 276,
    packets: canFrames.slice(8).map((frame) => sll2({ protocol: 0x000d, hardware: 280 }, cookedCan(frame))),
  },
  { name: "lin.pcap", linkType: 212, packets: [lin(data(8)), lin(data(2)), lin(data(0))] },
  { name: "flexray.pcap", linkType: 210, packets: [flexRay(data(16)), flexRay(data(254))] },
  {
    name: "tecmp.pcapng",
    linkType: 1,
    packets: [
      ...tecmpPackets.map((packet) => ethernet(EtherType.captureModule, packet)),
      tagged(tecmpPackets[0] ?? data(0)),
    ],
  },
  {
    name: "asam-cmp.pcapng",
    linkType: 1,
    packets: asamCmpPackets.map((packet) => ethernet(EtherType.captureModule, packet)),
  },
  { name: "avtp.pcap", linkType: 1, packets: avtpPackets.map((packet) => ethernet(EtherType.avtp, packet)) },
  { name: "doip.pcap", linkType: 1, packets: doipPackets },
  { name: "vehicle-ethernet.pcapng", linkType: 1, packets: ethernetPackets },
  ...linkTypeCaptures,
];

/** The file's bytes: a packet a millisecond and a nanosecond, from 2023-11-14T22:13:20Z on. */
export function captureBytes(capture: VehicleCapture): Uint8Array {
  const writer = capture.name.endsWith(".pcapng") ? new PcapngWriter() : new PcapWriter();
  return concatenated(
    ...capture.packets.map((bytes, i) => writer.packet(packetToWrite(capture.linkType, bytes, i))),
  );
}

function packetToWrite(linkType: number, bytes: Uint8Array, index: number): PacketToWrite {
  return {
    linkType,
    interfaceId: 0,
    interfaceName: "vehicle",
    packetComment: null,
    time: { seconds: 1_700_000_000, nanoseconds: index * 1_000_001 },
    originalLength: bytes.length,
    bytes,
  };
}
