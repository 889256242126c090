import { decodeStatusNames } from "@deltacap/capture";
import type { ColumnBuilder } from "@deltacap/parquet";
import {
  AddressBuilder,
  BinaryBuilder,
  BooleanBuilder,
  ColumnGroup,
  EnumBuilder,
  IntegerBuilder,
  LongBuilder,
  StringBuilder,
  TimestampBuilder,
} from "@deltacap/parquet";
import type { PacketColumnName } from "./packet-table.ts";

/** A column of the files: the partition column is in none. */
export type FileColumnName = Exclude<PacketColumnName, "date">;

/** The builders of the packets table's columns, by the table's names. */
export type PacketColumns = ReturnType<typeof packetColumns>;

/** The builders of the packets table, in groups of columns that a packet has together. */
export function packetColumns(hashSeed: number) {
  return { ...captureGroups(hashSeed), ...networkGroups(hashSeed), ...vehicleGroups() };
}

/** What captures and packets have whatever their protocols are. */
function captureGroups(hashSeed: number) {
  return {
    capture: new ColumnGroup({
      vehicle_id: new StringBuilder(),
      capture: new StringBuilder(),
      source_id: new StringBuilder(),
      ingested_at: new TimestampBuilder(),
    }),
    /** Of every packet, or of nearly every one. */
    packet: new ColumnGroup({
      packet_number: new LongBuilder(),
      ts: new TimestampBuilder(),
      ts_nanos: new IntegerBuilder(),
      link_type: new IntegerBuilder(),
      captured_length: new LongBuilder(),
      original_length: new LongBuilder(),
      eth_src: new AddressBuilder(hashSeed),
      eth_dst: new AddressBuilder(hashSeed),
      eth_type: new IntegerBuilder(),
      payload_offset: new IntegerBuilder(),
      payload_length: new IntegerBuilder(),
      decode_status: new EnumBuilder(decodeStatusNames),
      frame: new BinaryBuilder(),
    }),
    section: new ColumnGroup({
      section_number: new IntegerBuilder(),
      interface_id: new IntegerBuilder(),
      interface_name: new StringBuilder(),
    }),
    comment: new ColumnGroup({ packet_comment: new StringBuilder() }),
  };
}

function networkGroups(hashSeed: number) {
  return {
    vlan: new ColumnGroup({
      vlan_id: new IntegerBuilder(),
      vlan_priority: new IntegerBuilder(),
      inner_vlan_id: new IntegerBuilder(),
    }),
    arp: new ColumnGroup({ arp_opcode: new IntegerBuilder() }),
    ip: new ColumnGroup({
      ip_version: new IntegerBuilder(),
      ip_protocol: new IntegerBuilder(),
      ip_ttl: new IntegerBuilder(),
      ip_dscp: new IntegerBuilder(),
      ip_src: new AddressBuilder(hashSeed),
      ip_dst: new AddressBuilder(hashSeed),
    }),
    /** What every IPv4 packet has, and IPv6 packets in fragments. */
    fragment: new ColumnGroup({
      ip_id: new LongBuilder(),
      ip_fragment_offset: new IntegerBuilder(),
      ip_more_fragments: new BooleanBuilder(),
    }),
    ports: new ColumnGroup({ src_port: new IntegerBuilder(), dst_port: new IntegerBuilder() }),
    tcp: new ColumnGroup({
      tcp_flags: new IntegerBuilder(),
      tcp_window: new IntegerBuilder(),
      tcp_seq: new LongBuilder(),
      tcp_ack: new LongBuilder(),
    }),
    icmp: new ColumnGroup({ icmp_type: new IntegerBuilder(), icmp_code: new IntegerBuilder() }),
  };
}

function vehicleGroups() {
  return {
    can: new ColumnGroup({
      can_id: new LongBuilder(),
      can_extended: new BooleanBuilder(),
      can_remote: new BooleanBuilder(),
      can_error: new BooleanBuilder(),
      can_fd: new BooleanBuilder(),
      can_length: new IntegerBuilder(),
    }),
    someip: new ColumnGroup({
      someip_service_id: new IntegerBuilder(),
      someip_method_id: new IntegerBuilder(),
      someip_client_id: new IntegerBuilder(),
      someip_session_id: new IntegerBuilder(),
      someip_interface_version: new IntegerBuilder(),
      someip_message_type: new IntegerBuilder(),
      someip_return_code: new IntegerBuilder(),
      someip_count: new IntegerBuilder(),
    }),
    doip: new ColumnGroup({
      doip_payload_type: new IntegerBuilder(),
      doip_source_address: new IntegerBuilder(),
      doip_target_address: new IntegerBuilder(),
      uds_service_id: new IntegerBuilder(),
      doip_count: new IntegerBuilder(),
    }),
    ptp: new ColumnGroup({ ptp_message_type: new IntegerBuilder(), ptp_sequence_id: new IntegerBuilder() }),
    module: new ColumnGroup({
      record_number: new IntegerBuilder(),
      module_device_id: new IntegerBuilder(),
      module_interface_id: new LongBuilder(),
    }),
  };
}

/** A column's builder, and the group that it belongs to. */
export interface GroupedColumn {
  readonly builder: ColumnBuilder;
  readonly group: Pick<ColumnGroup<Record<string, ColumnBuilder>>, "hasRows">;
}

type GroupedColumnName = {
  [Group in keyof PacketColumns]: keyof PacketColumns[Group]["columns"];
}[keyof PacketColumns];

/** All columns by name. A column of the table that is in no group does not compile here. */
export function columnsByName(groups: PacketColumns): Map<FileColumnName, GroupedColumn> {
  const byName = new Map<FileColumnName, GroupedColumn>();
  true satisfies FileColumnName extends GroupedColumnName ? true : never;
  for (const group of Object.values(groups)) {
    for (const [name, builder] of Object.entries(group.columns))
      byName.set(name as FileColumnName, { builder, group });
  }
  return byName;
}
