import { ABSENT, decodeStatusNames, type PacketRecord } from "../decode/packet-record.ts";
import {
  AddressBuilder,
  BinaryBuilder,
  BooleanBuilder,
  EnumBuilder,
  IntegerBuilder,
  LongBuilder,
  StringBuilder,
  TimestampBuilder,
} from "./column-builders.ts";
import { type PacketColumnName, packetTable } from "./packet-table.ts";
import type { RowGroup } from "./row-group.ts";

/** What all rows of one capture share. */
export interface CaptureColumns {
  readonly capture: string;
  readonly sourceId: string;
  readonly vehicleId: string | null;
  /** Milliseconds since 1970: when the converter read the capture. */
  readonly ingestedMs: number;
}

/**
 * Rows of the packets table being collected for one partition. Rows are appended and can be taken back from the end
 * ({@link truncate}), so that a capture that fails leaves nothing behind.
 *
 * Memory: about 330 bytes a row and the frames; it grows with the rows and is kept when the batch is cleared.
 */
export class PacketBatch {
  rows = 0;
  readonly #columns: PacketColumns;
  readonly #append: (row: number, record: PacketRecord, capture: CaptureColumns) => void;
  readonly #dictionaries: readonly (StringBuilder | AddressBuilder)[];
  #capacity = 0;

  /** `hashSeed`: unpredictable to whoever uploads captures; the rows do not depend on it. */
  constructor(hashSeed: number) {
    this.#columns = createColumns(hashSeed);
    this.#append = appender(this.#columns);
    this.#dictionaries = Object.values(this.#columns).filter(
      (column) => column instanceof StringBuilder || column instanceof AddressBuilder,
    );
  }

  /** Bytes of the frames in the batch. */
  get frameBytes(): number {
    return this.rows === 0 ? 0 : this.#columns.frame.bytesBefore(this.rows);
  }

  /** What makes a batch large besides its rows: frames, and texts not seen before (a packet's comment may be 64 KiB). */
  get bytes(): number {
    if (this.rows === 0) return 0;
    return this.#dictionaries.reduce((sum, { newBytes }) => sum + newBytes, this.frameBytes);
  }

  /** Copies what the record holds; ~60 stores, no allocation but for growth and values not seen before. */
  append(record: PacketRecord, capture: CaptureColumns): void {
    if (this.rows === this.#capacity) this.#grow();
    this.#append(this.rows, record, capture);
    this.rows++;
  }

  /** Forgets all rows from `rows` on. */
  truncate(rows: number): void {
    if (rows === 0) this.clear();
    else this.rows = Math.min(this.rows, rows);
  }

  /** Rows `from` to `to` (exclusive), in the order of the table's columns without the partition column. */
  take(from: number, to: number): RowGroup {
    return { rows: to - from, columns: fileColumns.map((name) => this.#columns[name].take(from, to)) };
  }

  /** Forgets the first `count` rows; the others keep their order. Cost: a copy of the others. */
  removeFirst(count: number): void {
    if (count === this.rows) return this.clear();
    for (const name of fileColumns) this.#columns[name].removeFirst(count, this.rows);
    this.rows -= count;
  }

  clear(): void {
    this.rows = 0;
    for (const name of fileColumns) this.#columns[name].clear();
  }

  #grow(): void {
    this.#capacity = Math.max(1024, this.#capacity * 2);
    for (const name of fileColumns) this.#columns[name].ensureRows(this.#capacity);
  }
}

type FileColumnName = Exclude<PacketColumnName, "date">;

const fileColumns = packetTable.columns
  .map((column) => column.name)
  .filter((name) => name !== packetTable.partitionColumn) as FileColumnName[];

type PacketColumns = ReturnType<typeof createColumns>;

/** One builder a column: `satisfies` makes a column that was forgotten here a compile error. */
function createColumns(hashSeed: number) {
  return {
    vehicle_id: new StringBuilder(),
    capture: new StringBuilder(),
    source_id: new StringBuilder(),
    packet_number: new LongBuilder(),
    record_number: new IntegerBuilder(),
    ts: new TimestampBuilder(),
    ts_nanos: new IntegerBuilder(),
    section_number: new IntegerBuilder(),
    interface_id: new IntegerBuilder(),
    interface_name: new StringBuilder(),
    packet_comment: new StringBuilder(),
    link_type: new IntegerBuilder(),
    captured_length: new LongBuilder(),
    original_length: new LongBuilder(),
    eth_src: new AddressBuilder(hashSeed),
    eth_dst: new AddressBuilder(hashSeed),
    eth_type: new IntegerBuilder(),
    vlan_id: new IntegerBuilder(),
    vlan_priority: new IntegerBuilder(),
    inner_vlan_id: new IntegerBuilder(),
    arp_opcode: new IntegerBuilder(),
    ip_version: new IntegerBuilder(),
    ip_protocol: new IntegerBuilder(),
    ip_ttl: new IntegerBuilder(),
    ip_dscp: new IntegerBuilder(),
    ip_src: new AddressBuilder(hashSeed),
    ip_dst: new AddressBuilder(hashSeed),
    ip_id: new LongBuilder(),
    ip_fragment_offset: new IntegerBuilder(),
    ip_more_fragments: new BooleanBuilder(),
    src_port: new IntegerBuilder(),
    dst_port: new IntegerBuilder(),
    tcp_flags: new IntegerBuilder(),
    tcp_window: new IntegerBuilder(),
    tcp_seq: new LongBuilder(),
    tcp_ack: new LongBuilder(),
    icmp_type: new IntegerBuilder(),
    icmp_code: new IntegerBuilder(),
    can_id: new LongBuilder(),
    can_extended: new BooleanBuilder(),
    can_remote: new BooleanBuilder(),
    can_error: new BooleanBuilder(),
    can_fd: new BooleanBuilder(),
    can_length: new IntegerBuilder(),
    someip_service_id: new IntegerBuilder(),
    someip_method_id: new IntegerBuilder(),
    someip_client_id: new IntegerBuilder(),
    someip_session_id: new IntegerBuilder(),
    someip_interface_version: new IntegerBuilder(),
    someip_message_type: new IntegerBuilder(),
    someip_return_code: new IntegerBuilder(),
    someip_count: new IntegerBuilder(),
    doip_payload_type: new IntegerBuilder(),
    doip_source_address: new IntegerBuilder(),
    doip_target_address: new IntegerBuilder(),
    uds_service_id: new IntegerBuilder(),
    ptp_message_type: new IntegerBuilder(),
    ptp_sequence_id: new IntegerBuilder(),
    payload_offset: new IntegerBuilder(),
    payload_length: new IntegerBuilder(),
    decode_status: new EnumBuilder(decodeStatusNames),
    ingested_at: new TimestampBuilder(),
    frame: new BinaryBuilder(),
    module_device_id: new IntegerBuilder(),
    module_interface_id: new LongBuilder(),
  } satisfies Record<FileColumnName, unknown>;
}

/**
 * The function that stores one row. It is a straight line of stores on purpose: a loop over columns with computed field
 * names took 3.2 times as long (1,880 against 590 ns a row, Node 20, x86-64). Taking every column out of `columns` by name makes one that is never stored to an
 * unused variable, which does not compile; one that is not taken out fails at `rest`.
 */
function appender(
  columns: PacketColumns,
): (row: number, record: PacketRecord, capture: CaptureColumns) => void {
  const { vehicle_id, capture, source_id, packet_number, record_number, ts, ts_nanos, ...rest1 } = columns;
  const { section_number, interface_id, interface_name, packet_comment, link_type, ...rest2 } = rest1;
  const { captured_length, original_length, eth_src, eth_dst, eth_type, vlan_id, ...rest3 } = rest2;
  const { vlan_priority, inner_vlan_id, arp_opcode, ip_version, ip_protocol, ip_ttl, ...rest4 } = rest3;
  const { ip_dscp, ip_src, ip_dst, ip_id, ip_fragment_offset, ip_more_fragments, ...rest5 } = rest4;
  const { src_port, dst_port, tcp_flags, tcp_window, tcp_seq, tcp_ack, icmp_type, icmp_code, ...rest6 } =
    rest5;
  const { payload_offset, payload_length, decode_status, ingested_at, frame, ...vehicleColumns } = rest6;
  const appendVehicleColumns = vehicleAppender(vehicleColumns);

  return (row, record, shared) => {
    vehicle_id.codes[row] = vehicle_id.code(shared.vehicleId);
    capture.codes[row] = capture.code(shared.capture);
    source_id.codes[row] = source_id.code(shared.sourceId);
    packet_number.set(row, record.packetNumber);
    record_number.values[row] = record.recordNumber;
    if (record.hasTime) ts.set(row, record.seconds, record.nanoseconds);
    else ts.setNull(row);
    ts_nanos.values[row] = record.hasTime ? record.nanoseconds % 1000 : ABSENT;
    section_number.values[row] = record.sectionNumber;
    interface_id.values[row] = record.interfaceId;
    interface_name.codes[row] = interface_name.code(record.interfaceName);
    packet_comment.codes[row] = packet_comment.code(record.packetComment);
    link_type.values[row] = record.linkType;
    captured_length.set(row, record.capturedLength);
    original_length.set(row, record.originalLength);
    eth_src.codes[row] = eth_src.code(record.bytes, record.ethSrcOffset, 6);
    eth_dst.codes[row] = eth_dst.code(record.bytes, record.ethDstOffset, 6);
    eth_type.values[row] = record.ethType;
    vlan_id.values[row] = record.vlanId;
    vlan_priority.values[row] = record.vlanPriority;
    inner_vlan_id.values[row] = record.innerVlanId;
    arp_opcode.values[row] = record.arpOpcode;
    ip_version.values[row] = record.ipVersion;
    ip_protocol.values[row] = record.ipProtocol;
    ip_ttl.values[row] = record.ipTtl;
    ip_dscp.values[row] = record.ipDscp;
    const addressLength = record.ipVersion === 6 ? 16 : 4;
    ip_src.codes[row] = ip_src.code(record.bytes, record.ipSrcOffset, addressLength);
    ip_dst.codes[row] = ip_dst.code(record.bytes, record.ipDstOffset, addressLength);
    ip_id.set(row, record.ipId);
    ip_fragment_offset.values[row] = record.ipFragmentOffset;
    ip_more_fragments.values[row] = record.ipMoreFragments;
    src_port.values[row] = record.srcPort;
    dst_port.values[row] = record.dstPort;
    tcp_flags.values[row] = record.tcpFlags;
    tcp_window.values[row] = record.tcpWindow;
    tcp_seq.set(row, record.tcpSeq);
    tcp_ack.set(row, record.tcpAck);
    icmp_type.values[row] = record.icmpType;
    icmp_code.values[row] = record.icmpCode;
    payload_offset.values[row] = record.payloadOffset;
    payload_length.values[row] = record.payloadLength;
    decode_status.codes[row] = record.decodeStatus;
    ingested_at.set(row, Math.floor(shared.ingestedMs / 1000), (shared.ingestedMs % 1000) * 1_000_000);
    frame.append(row, record.bytes, record.frameOffset, record.frameLength);
    appendVehicleColumns(row, record);
  };
}

type VehicleColumnName = Extract<
  FileColumnName,
  `${"can" | "someip" | "doip" | "uds" | "ptp" | "module"}_${string}`
>;

/** The protocols of vehicles; as {@link appender}. */
function vehicleAppender(
  columns: Pick<PacketColumns, VehicleColumnName>,
): (row: number, record: PacketRecord) => void {
  const { can_id, can_extended, can_remote, can_error, can_fd, can_length, ...rest1 } = columns;
  const { someip_service_id, someip_method_id, someip_client_id, someip_session_id, ...rest2 } = rest1;
  const { someip_interface_version, someip_message_type, someip_return_code, someip_count, ...rest3 } = rest2;
  const { doip_payload_type, doip_source_address, doip_target_address, uds_service_id, ...rest4 } = rest3;
  const { ptp_message_type, ptp_sequence_id, module_device_id, module_interface_id, ...rest } = rest4;
  rest satisfies Record<string, never>;

  return (row, record) => {
    can_id.set(row, record.canId);
    can_extended.values[row] = record.canExtended;
    can_remote.values[row] = record.canRemote;
    can_error.values[row] = record.canError;
    can_fd.values[row] = record.canFd;
    can_length.values[row] = record.canLength;
    someip_service_id.values[row] = record.someipServiceId;
    someip_method_id.values[row] = record.someipMethodId;
    someip_client_id.values[row] = record.someipClientId;
    someip_session_id.values[row] = record.someipSessionId;
    someip_interface_version.values[row] = record.someipInterfaceVersion;
    someip_message_type.values[row] = record.someipMessageType;
    someip_return_code.values[row] = record.someipReturnCode;
    someip_count.values[row] = record.someipCount;
    doip_payload_type.values[row] = record.doipPayloadType;
    doip_source_address.values[row] = record.doipSourceAddress;
    doip_target_address.values[row] = record.doipTargetAddress;
    uds_service_id.values[row] = record.udsServiceId;
    ptp_message_type.values[row] = record.ptpMessageType;
    ptp_sequence_id.values[row] = record.ptpSequenceId;
    module_device_id.values[row] = record.moduleDeviceId;
    module_interface_id.set(row, record.moduleInterfaceId);
  };
}
