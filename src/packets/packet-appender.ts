import { ABSENT, type PacketRecord } from "@deltacap/capture";
import type { PacketColumns } from "./packet-columns.ts";

type Append = (row: number, record: PacketRecord) => void;

/**
 * The function that stores one row: the columns that every packet has, then those of each protocol that this one has. That a
 * packet has a protocol is told by one of the protocol's fields, which {@link PacketRecord} says to be there where any is.
 *
 * Stores stand in straight lines on purpose: a loop over columns with computed field names took 3.2 times as long (1,880 against
 * 590 ns a row, Node 20, x86-64). Taking every column of a group out by name makes one that is never stored to an unused
 * variable, which does not compile; one that is not taken out fails at `rest`.
 */
export function packetAppender(groups: PacketColumns): Append {
  const appendPacket = packetStores(groups.packet);
  const appendSection = sectionStores(groups.section);
  const appendComment = commentStores(groups.comment);
  const appendVlan = vlanStores(groups.vlan);
  const appendArp = arpStores(groups.arp);
  const appendIp = ipStores(groups.ip);
  const appendFragment = fragmentStores(groups.fragment);
  const appendPorts = portStores(groups.ports);
  const appendTcp = tcpStores(groups.tcp);
  const appendIcmp = icmpStores(groups.icmp);
  const appendCan = canStores(groups.can);
  const appendSomeip = someipStores(groups.someip);
  const appendDoip = doipStores(groups.doip);
  const appendPtp = ptpStores(groups.ptp);
  const appendModule = moduleStores(groups.module);

  return (row, record) => {
    appendPacket(row, record);
    if (record.sectionNumber !== ABSENT) appendSection(row, record);
    if (record.packetComment !== null) appendComment(row, record);
    if (record.vlanId !== ABSENT) appendVlan(row, record);
    if (record.arpOpcode !== ABSENT) appendArp(row, record);
    if (record.ipVersion !== ABSENT) appendIp(row, record);
    if (record.ipId !== ABSENT) appendFragment(row, record);
    if (record.srcPort !== ABSENT) appendPorts(row, record);
    if (record.tcpFlags !== ABSENT) appendTcp(row, record);
    if (record.icmpType !== ABSENT) appendIcmp(row, record);
    if (record.canError !== ABSENT) appendCan(row, record);
    if (record.someipCount !== ABSENT) appendSomeip(row, record);
    if (record.doipPayloadType !== ABSENT) appendDoip(row, record);
    if (record.ptpMessageType !== ABSENT) appendPtp(row, record);
    if (record.recordNumber !== ABSENT || record.moduleDeviceId !== ABSENT) appendModule(row, record);
  };
}

function packetStores(group: PacketColumns["packet"]): Append {
  const { packet_number, ts, ts_nanos, link_type, captured_length, original_length, ...rest1 } =
    group.columns;
  const { eth_src, eth_dst, eth_type, payload_offset, payload_length, decode_status, ...rest2 } = rest1;
  const { frame, ...rest } = rest2;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    packet_number.set(row, record.packetNumber);
    if (record.hasTime) {
      ts.set(row, record.seconds, record.nanoseconds);
      ts_nanos.values[row] = record.nanoseconds % 1000;
    }
    link_type.values[row] = record.linkType;
    captured_length.set(row, record.capturedLength);
    original_length.set(row, record.originalLength);
    if (record.ethSrcOffset !== ABSENT)
      eth_src.codes[row] = eth_src.code(record.bytes, record.ethSrcOffset, 6);
    if (record.ethDstOffset !== ABSENT)
      eth_dst.codes[row] = eth_dst.code(record.bytes, record.ethDstOffset, 6);
    eth_type.values[row] = record.ethType;
    payload_offset.values[row] = record.payloadOffset;
    payload_length.values[row] = record.payloadLength;
    decode_status.codes[row] = record.decodeStatus;
    frame.append(row, record.bytes, record.frameOffset, record.frameLength);
  };
}

function sectionStores(group: PacketColumns["section"]): Append {
  const { section_number, interface_id, interface_name, ...rest } = group.columns;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    section_number.values[row] = record.sectionNumber;
    interface_id.values[row] = record.interfaceId;
    interface_name.codes[row] = interface_name.code(record.interfaceName);
  };
}

function commentStores(group: PacketColumns["comment"]): Append {
  const { packet_comment, ...rest } = group.columns;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    packet_comment.codes[row] = packet_comment.code(record.packetComment);
  };
}

function vlanStores(group: PacketColumns["vlan"]): Append {
  const { vlan_id, vlan_priority, inner_vlan_id, ...rest } = group.columns;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    vlan_id.values[row] = record.vlanId;
    vlan_priority.values[row] = record.vlanPriority;
    inner_vlan_id.values[row] = record.innerVlanId;
  };
}

function arpStores(group: PacketColumns["arp"]): Append {
  const { arp_opcode, ...rest } = group.columns;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    arp_opcode.values[row] = record.arpOpcode;
  };
}

function ipStores(group: PacketColumns["ip"]): Append {
  const { ip_version, ip_protocol, ip_ttl, ip_dscp, ip_src, ip_dst, ...rest } = group.columns;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    ip_version.values[row] = record.ipVersion;
    ip_protocol.values[row] = record.ipProtocol;
    ip_ttl.values[row] = record.ipTtl;
    ip_dscp.values[row] = record.ipDscp;
    const length = record.ipVersion === 6 ? 16 : 4;
    if (record.ipSrcOffset !== ABSENT)
      ip_src.codes[row] = ip_src.code(record.bytes, record.ipSrcOffset, length);
    if (record.ipDstOffset !== ABSENT)
      ip_dst.codes[row] = ip_dst.code(record.bytes, record.ipDstOffset, length);
  };
}

function fragmentStores(group: PacketColumns["fragment"]): Append {
  const { ip_id, ip_fragment_offset, ip_more_fragments, ...rest } = group.columns;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    ip_id.set(row, record.ipId);
    ip_fragment_offset.values[row] = record.ipFragmentOffset;
    ip_more_fragments.values[row] = record.ipMoreFragments;
  };
}

function portStores(group: PacketColumns["ports"]): Append {
  const { src_port, dst_port, ...rest } = group.columns;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    src_port.values[row] = record.srcPort;
    dst_port.values[row] = record.dstPort;
  };
}

function tcpStores(group: PacketColumns["tcp"]): Append {
  const { tcp_flags, tcp_window, tcp_seq, tcp_ack, ...rest } = group.columns;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    tcp_flags.values[row] = record.tcpFlags;
    tcp_window.values[row] = record.tcpWindow;
    tcp_seq.set(row, record.tcpSeq);
    tcp_ack.set(row, record.tcpAck);
  };
}

function icmpStores(group: PacketColumns["icmp"]): Append {
  const { icmp_type, icmp_code, ...rest } = group.columns;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    icmp_type.values[row] = record.icmpType;
    icmp_code.values[row] = record.icmpCode;
  };
}

function canStores(group: PacketColumns["can"]): Append {
  const { can_id, can_extended, can_remote, can_error, can_fd, can_length, ...rest } = group.columns;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    can_id.set(row, record.canId);
    can_extended.values[row] = record.canExtended;
    can_remote.values[row] = record.canRemote;
    can_error.values[row] = record.canError;
    can_fd.values[row] = record.canFd;
    can_length.values[row] = record.canLength;
  };
}

function someipStores(group: PacketColumns["someip"]): Append {
  const { someip_service_id, someip_method_id, someip_client_id, someip_session_id, ...rest1 } =
    group.columns;
  const { someip_interface_version, someip_message_type, someip_return_code, someip_count, ...rest } = rest1;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    someip_service_id.values[row] = record.someipServiceId;
    someip_method_id.values[row] = record.someipMethodId;
    someip_client_id.values[row] = record.someipClientId;
    someip_session_id.values[row] = record.someipSessionId;
    someip_interface_version.values[row] = record.someipInterfaceVersion;
    someip_message_type.values[row] = record.someipMessageType;
    someip_return_code.values[row] = record.someipReturnCode;
    someip_count.values[row] = record.someipCount;
  };
}

function doipStores(group: PacketColumns["doip"]): Append {
  const { doip_payload_type, doip_source_address, doip_target_address, uds_service_id, doip_count, ...rest } =
    group.columns;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    doip_payload_type.values[row] = record.doipPayloadType;
    doip_source_address.values[row] = record.doipSourceAddress;
    doip_target_address.values[row] = record.doipTargetAddress;
    uds_service_id.values[row] = record.udsServiceId;
    doip_count.values[row] = record.doipCount;
  };
}

function ptpStores(group: PacketColumns["ptp"]): Append {
  const { ptp_message_type, ptp_sequence_id, ...rest } = group.columns;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    ptp_message_type.values[row] = record.ptpMessageType;
    ptp_sequence_id.values[row] = record.ptpSequenceId;
  };
}

function moduleStores(group: PacketColumns["module"]): Append {
  const { record_number, module_device_id, module_interface_id, ...rest } = group.columns;
  rest satisfies Record<string, never>;
  return (row, record) => {
    group.reach(row);
    record_number.values[row] = record.recordNumber;
    module_device_id.values[row] = record.moduleDeviceId;
    module_interface_id.set(row, record.moduleInterfaceId);
  };
}
