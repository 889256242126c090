/** All occurrences of each field in a frame, in order, as tshark writes them. */
export type Fields = Readonly<Record<string, readonly string[]>>;

/** A column, or an expression over columns, and what tshark's fields say it is. */
export interface JudgedColumn {
  readonly column: string;
  /** SQL over `packets`; the column itself where it is left out. */
  readonly expression?: string;
  readonly fields: readonly string[];
  /** The values that are not null, of the packet's own row and then of its records' rows. */
  readonly values: (fields: Fields) => readonly string[];
}

const number = (text: string) => String(Number(text));
const all = (fields: Fields, name: string) => fields[name] ?? [];
const first = (fields: Fields, ...names: string[]) =>
  names
    .flatMap((name) => all(fields, name))
    .slice(0, 1)
    .map(number);

/** The first of a few fields that the frame has, as a number. */
function one(column: string, ...names: string[]): JudgedColumn {
  return { column, fields: names, values: (fields) => first(fields, ...names) };
}

/** Every occurrence of a few flags. */
function flags(column: string, expression: string, ...names: string[]): JudgedColumn {
  return {
    column,
    expression,
    fields: names,
    values: (fields) => names.flatMap((name) => all(fields, name)).map((value) => String(value === "1")),
  };
}

/** TECMP's messages about the module itself have fields of records too, and no records. */
const isRecords = (fields: Fields) => [3, 10].includes(Number(all(fields, "tecmp.message_type")[0]));
const ofRecords = (fields: Fields, name: string) => (isRecords(fields) ? all(fields, name) : []);

const TECMP_ETHERNET = 0x80;
const FCS_LENGTH = 4;
const isEthernetRecord = (fields: Fields) => Number(all(fields, "tecmp.data_type")[0]) === TECMP_ETHERNET;

/** EtherTypes of link layers without an Ethernet header. */
const otherEtherTypes = ["llc.type", "chdlc.protocol", "fr.snaptype", "fr.chdlctype", "sll.gretype"];

/** The time of a row in nanoseconds since 1970. */
const nanoseconds = "epoch_us(ts)::HUGEINT * 1000 + ts_nanos";

export const judgedColumns: readonly JudgedColumn[] = [
  {
    column: "ts, ts_nanos",
    expression: nanoseconds,
    fields: ["frame.time_epoch", "tecmp.payload.timestamp_ns", "tecmp.message_type"],
    values: (fields) => [
      ...all(fields, "frame.time_epoch").map((time) => time.replace(".", "")),
      ...ofRecords(fields, "tecmp.payload.timestamp_ns"),
    ],
  },
  {
    column: "original_length",
    fields: ["frame.len", "tecmp.payload.length", "tecmp.message_type", "tecmp.data_type"],
    values: (fields) => [
      ...all(fields, "frame.len"),
      ...ofRecords(fields, "tecmp.payload.length").map((length) =>
        String(Number(length) - (isEthernetRecord(fields) ? FCS_LENGTH : 0)),
      ),
    ],
  },
  { column: "eth_src", fields: ["eth.src"], values: (fields) => all(fields, "eth.src") },
  { column: "eth_dst", fields: ["eth.dst"], values: (fields) => all(fields, "eth.dst") },
  {
    column: "eth_type",
    fields: ["eth.type", "vlan.etype", ...otherEtherTypes],
    values: (fields) => {
      const [own, ...inner] = all(fields, "eth.type").map(number);
      return own === undefined
        ? first(fields, ...otherEtherTypes)
        : [...first(fields, "vlan.etype", "eth.type"), ...inner];
    },
  },
  one("vlan_id", "vlan.id"),
  one("vlan_priority", "vlan.priority"),
  one("arp_opcode", "arp.opcode"),
  {
    column: "ip_src",
    fields: ["ip.src", "ipv6.src"],
    values: (fields) => [...all(fields, "ip.src"), ...all(fields, "ipv6.src")],
  },
  one("ip_protocol", "ip.proto", "ipv6.nxt"),
  one("src_port", "tcp.srcport", "udp.srcport"),
  one("dst_port", "tcp.dstport", "udp.dstport"),
  one("tcp_seq", "tcp.seq_raw"),
  {
    column: "can_id",
    fields: ["can.id", "tecmp.payload.data.can_id_field"],
    values: (fields) => [
      ...all(fields, "can.id").map(number),
      ...all(fields, "tecmp.payload.data.can_id_field").map((field) => String(Number(field) & 0x1fff_ffff)),
    ],
  },
  {
    column: "can_extended",
    fields: ["can.id", "can.flags.xtd", "tecmp.payload.data.can_id_type"],
    values: (fields) =>
      [
        ...(all(fields, "can.id").length > 0 ? all(fields, "can.flags.xtd") : []),
        ...all(fields, "tecmp.payload.data.can_id_type"),
      ].map((value) => String(value === "1")),
  },
  // Where tshark has no such flag, CAN FD and error frames, the table says false.
  flags(
    "can_remote",
    "CASE WHEN NOT can_fd AND (NOT can_error OR record_number IS NOT NULL) THEN can_remote END",
    "can.flags.rtr",
    "tecmp.payload.data_flags.rtr",
  ),
  flags(
    "can_error",
    "CASE WHEN NOT can_fd OR record_number IS NOT NULL THEN can_error END",
    "can.flags.err",
    "tecmp.payload.data_flags.error_frame",
  ),
  {
    column: "can_fd",
    expression: "CASE WHEN can_fd THEN true END",
    fields: ["canfd.flags.brs", "tecmp.data_type", "tecmp.payload.data.can_id_field"],
    values: (fields) => [
      ...all(fields, "canfd.flags.brs").map(() => "true"),
      ...all(fields, "tecmp.payload.data.can_id_field").flatMap(() =>
        Number(all(fields, "tecmp.data_type")[0]) === 3 ? ["true"] : [],
      ),
    ],
  },
  {
    column: "can_length",
    fields: ["can.len", "tecmp.payload.data.can_id_field", "tecmp.payload.data.payload_length"],
    values: (fields) => [
      ...all(fields, "can.len"),
      ...(all(fields, "tecmp.payload.data.can_id_field").length > 0
        ? all(fields, "tecmp.payload.data.payload_length")
        : []),
    ],
  },
  {
    column: "payload_length",
    expression: "CASE WHEN link_type IN (210, 212) THEN payload_length END",
    fields: [
      "lin.length",
      "flexray.pl",
      "tecmp.payload.data.payload_length",
      "tecmp.payload.data.can_id_field",
    ],
    values: (fields) => [
      ...all(fields, "lin.length"),
      // In words of two bytes.
      ...all(fields, "flexray.pl").map((words) => String(2 * Number(words))),
      ...(all(fields, "tecmp.payload.data.can_id_field").length > 0
        ? []
        : all(fields, "tecmp.payload.data.payload_length")),
    ],
  },
  one("someip_service_id", "someip.serviceid"),
  one("someip_method_id", "someip.methodid"),
  one("someip_client_id", "someip.clientid"),
  one("someip_session_id", "someip.sessionid"),
  one("someip_interface_version", "someip.interfaceversion"),
  one("someip_message_type", "someip.messagetype"),
  one("someip_return_code", "someip.returncode"),
  {
    column: "someip_count",
    fields: ["someip.serviceid"],
    values: (fields) => {
      const messages = all(fields, "someip.serviceid").length;
      return messages === 0 ? [] : [String(messages)];
    },
  },
  one("doip_payload_type", "doip.type"),
  one("doip_source_address", "doip.source_address"),
  one("doip_target_address", "doip.target_address"),
  {
    column: "uds_service_id",
    fields: ["uds.sid", "uds.reply"],
    // tshark takes the answer's bit off the service.
    values: (fields) =>
      first(fields, "uds.sid").map((service) =>
        String(Number(service) | (Number(all(fields, "uds.reply")[0]) << 6)),
      ),
  },
  one("ptp_message_type", "ptp.v2.messagetype"),
  one("ptp_sequence_id", "ptp.v2.sequenceid"),
  {
    column: "payload_offset",
    expression:
      "CASE WHEN eth_type = 8944 THEN '0x' || lower(hex(frame)[payload_offset * 2 + 1 : payload_offset * 2 + 2]) END",
    // AVTP has no columns: its first byte is where the payload begins.
    fields: ["ieee1722.subtype"],
    values: (fields) => all(fields, "ieee1722.subtype"),
  },
  {
    column: "module_device_id",
    fields: ["tecmp.device_id", "tecmp.message_type", "tecmp.payload.interface_id"],
    values: (fields) => {
      const [device] = all(fields, "tecmp.device_id").map(number);
      return device === undefined
        ? []
        : [device, ...ofRecords(fields, "tecmp.payload.interface_id").map(() => device)];
    },
  },
  {
    column: "module_interface_id",
    fields: ["tecmp.payload.interface_id", "tecmp.message_type"],
    values: (fields) => ofRecords(fields, "tecmp.payload.interface_id").map(number),
  },
];
