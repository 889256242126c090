import type { ColumnDefinition, TableSchema } from "@deltacap/parquet";

/**
 * The table `packets`: the one place where its columns are stated. Parquet files, the Delta schema, the
 * statistics and `docs/table.md` are made from this list. It grows by nullable columns at the end and never otherwise.
 */
const columns = [
  column(
    "date",
    "date",
    "partition: UTC day of ts; null where ts is null, or on a date with too few rows of a capture whose clock was wrong",
  ),
  filtered(
    "vehicle_id",
    "string",
    "from the object key, by the key pattern setting; null where it does not match",
  ),
  filtered("capture", "string", "where the packet came from: `s3://bucket/key`, or a `file://` URL"),
  filtered(
    "source_id",
    "string",
    "id of the very object version: (source_id, packet_number, record_number) is unique",
  ),
  filtered("packet_number", "long", "1, 2, 3 ... within the source, packets only"),
  column(
    "record_number",
    "integer",
    "null for a packet's own row; 1, 2 ... for records unwrapped from a capture module's packet",
  ),
  filtered(
    "ts",
    "timestamp",
    "UTC, microseconds (floor); null where the format carries none, and outside the years 1900 to 2299",
  ),
  column("ts_nanos", "integer", "0-999: the nanoseconds that ts leaves out"),
  column("section_number", "integer", "pcapng section, 1, 2 ...; null for classic pcap"),
  column("interface_id", "integer", "pcapng interface within its section; null for classic pcap"),
  column("interface_name", "string", "pcapng if_name option; null for classic pcap"),
  column("packet_comment", "string", "pcapng comment option"),
  filtered("link_type", "integer", "LINKTYPE_ value of this packet"),
  column("captured_length", "long", "bytes in the file"),
  filtered("original_length", "long", "bytes on the wire"),
  filtered("eth_src", "string", "`aa:bb:cc:dd:ee:ff`"),
  filtered("eth_dst", "string", "`aa:bb:cc:dd:ee:ff`"),
  filtered("eth_type", "integer", "EtherType after VLAN tags"),
  filtered("vlan_id", "integer", "outermost tag"),
  column("vlan_priority", "integer", "PCP of the outermost tag"),
  column("inner_vlan_id", "integer", "second tag"),
  column("arp_opcode", "integer", "ARP and RARP operation"),
  column("ip_version", "integer", "of the outermost IP header, as all ip columns: 4 or 6"),
  filtered("ip_protocol", "integer", "after IPv6 extension headers"),
  column("ip_ttl", "integer", "time to live; IPv6: hop limit"),
  column("ip_dscp", "integer", "differentiated services code point"),
  filtered("ip_src", "string", "canonical text (RFC 5952 for IPv6)"),
  filtered("ip_dst", "string", "canonical text (RFC 5952 for IPv6)"),
  column("ip_id", "long", "IPv4 identification, or the IPv6 fragment header's"),
  column("ip_fragment_offset", "integer", "bytes"),
  column("ip_more_fragments", "boolean", "IPv4 MF flag, or the IPv6 fragment header's M flag"),
  filtered(
    "src_port",
    "integer",
    "TCP, UDP, SCTP directly on the outermost IP header; null on later fragments",
  ),
  filtered("dst_port", "integer", "as src_port"),
  column("tcp_flags", "integer", "the flags with the reserved bits, as the header has them (12 bits)"),
  column("tcp_window", "integer", "raw, not scaled"),
  column("tcp_seq", "long", "raw sequence number"),
  column("tcp_ack", "long", "raw acknowledgement number"),
  column("icmp_type", "integer", "ICMP and ICMPv6"),
  column("icmp_code", "integer", "ICMP and ICMPv6"),
  filtered("can_id", "long", "11 or 29 bits, flags removed"),
  column("can_extended", "boolean", "29 bit identifier"),
  column("can_remote", "boolean", "remote frame"),
  column("can_error", "boolean", "error frame"),
  column("can_fd", "boolean", "CAN FD frame"),
  column("can_length", "integer", "data bytes"),
  filtered("someip_service_id", "integer", "of the first SOME/IP message in the packet"),
  filtered("someip_method_id", "integer", "of the first message; events have bit 15 set"),
  column("someip_client_id", "integer", "of the first message"),
  column("someip_session_id", "integer", "of the first message"),
  column("someip_interface_version", "integer", "of the first message"),
  column(
    "someip_message_type",
    "integer",
    "of the first message: 0 request, 2 notification, 128 response ...",
  ),
  column("someip_return_code", "integer", "of the first message: 0 is E_OK"),
  column("someip_count", "integer", "SOME/IP messages in the packet"),
  filtered("doip_payload_type", "integer", "DoIP payload type"),
  filtered("doip_source_address", "integer", "DoIP logical source address"),
  filtered("doip_target_address", "integer", "DoIP logical target address"),
  filtered("uds_service_id", "integer", "UDS service of a DoIP diagnostic message; 127 is a negative answer"),
  column("ptp_message_type", "integer", "gPTP and PTPv2: 0 sync, 8 follow-up ..."),
  column("ptp_sequence_id", "integer", "gPTP and PTPv2"),
  column(
    "payload_offset",
    "integer",
    "where in `frame` the bytes after the last decoded header begin; padding excluded",
  ),
  column("payload_length", "integer", "how many they are"),
  filtered(
    "decode_status",
    "string",
    "`ok`: no error in the headers this table decodes; `truncated`: the captured bytes end inside one; `malformed`: a header contradicts itself; `unsupported`: link type unknown",
  ),
  filtered("ingested_at", "timestamp", "when the converter read it"),
  column("frame", "binary", "the captured bytes, whole; null for a record inside a capture module's packet"),
  filtered(
    "module_device_id",
    "integer",
    "capture module (TECMP, ASAM CMP) that recorded the frame; null elsewhere",
  ),
  filtered("module_interface_id", "long", "the module's interface or channel; null elsewhere"),
  column(
    "doip_count",
    "integer",
    "DoIP messages that begin in the packet; the doip and uds columns show the first diagnostic message, else the first message",
  ),
] as const satisfies readonly ColumnDefinition[];

/** Every column's name, in the table's order. */
export type PacketColumnName = (typeof columns)[number]["name"];

/** Columns that the table has had since its first version. No table of another purpose has all of them. */
const identity = [
  "date",
  "vehicle_id",
  "capture",
  "source_id",
  "packet_number",
  "ts",
  "link_type",
  "captured_length",
  "original_length",
  "frame",
] as const satisfies readonly PacketColumnName[];

/** The schema of the table `packets`: Parquet files, the log and docs/table.md are made from it. */
export const packetTable: TableSchema = { name: "packets", partitionColumn: "date", identity, columns };

function column<const Name extends string, const Type extends ColumnDefinition["type"]>(
  name: Name,
  type: Type,
  meaning: string,
) {
  return { name, type, meaning, statistics: false } as const;
}

/** A column that queries filter by: it has bounds in the files' statistics. */
function filtered<const Name extends string, const Type extends ColumnDefinition["type"]>(
  name: Name,
  type: Type,
  meaning: string,
) {
  return { name, type, meaning, statistics: true } as const;
}

/** Columns of the table's Parquet files: all but the partition column, which only the path holds. */
export const fileColumns = packetTable.columns.filter(({ name }) => name !== packetTable.partitionColumn);
