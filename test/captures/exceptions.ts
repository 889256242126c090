/**
 * Where the table differs from what tshark says of the real captures, and why tshark is not followed. The list is checked in
 * both directions: a difference that is not here fails, and so does an entry that no longer occurs.
 */
export interface CountException {
  readonly capture: string;
  /** Packets that tshark has, and that the table has. */
  readonly expected: number;
  readonly got: number;
  readonly reason: string;
}

export interface ValueException {
  readonly capture: string;
  /** First and last packet. */
  readonly packets: readonly [first: number, last: number];
  readonly columns: readonly string[];
  /** What tshark says and what the table has; left out where it differs from packet to packet. */
  readonly expected?: unknown;
  readonly got?: unknown;
  /** Where the judge reads the rows from something else there is no difference. */
  readonly only?: "parquet";
  readonly reason: string;
}

const unknownToTshark =
  "tshark refuses a whole pcap file of a link type it does not know; its packets are kept";

export const countExceptions: readonly CountException[] = [
  {
    capture: "suricata__fuzz.pcap",
    expected: 2,
    got: 1,
    reason:
      "the second record is damaged; tshark then guesses a variant with longer record headers and misreads both packets",
  },
  {
    capture: "tcpdump__bgp_vpn_rt-oobr.pcap",
    expected: 38,
    got: 1,
    reason:
      "37 record headers of zeros follow the first packet: an unwritten tail, which tshark reads as empty packets",
  },
  { capture: "tcpdump__brcm-tag-prepend.pcap", expected: 0, got: 15, reason: unknownToTshark },
  { capture: "tcpdump__dsa.pcap", expected: 0, got: 8, reason: unknownToTshark },
  { capture: "tcpdump__hoobr_juniper3.pcap", expected: 0, got: 1, reason: unknownToTshark },
];

const canInUdp = ["can_id", "can_length", "can_extended"];
const canInUdpReason =
  "CAN frames in UDP (port 11898): tshark puts the first on the packet, the table gives each a record row of its own";
const beyondYears = "the time lies beyond the year 2299: the table has no time there";
const notSomeip =
  "tshark's heuristic takes TLS, RPC and TNS data for SOME/IP: the message's length does not fit the packet, or its type and return code exclude each other";
const someip = [
  "someip_service_id",
  "someip_method_id",
  "someip_client_id",
  "someip_session_id",
  "someip_message_type",
  "someip_return_code",
];

export const valueExceptions: readonly ValueException[] = [
  {
    capture: "esnetlpn__packets.merged.pcapng",
    packets: [1, 493],
    columns: canInUdp,
    got: null,
    reason: canInUdpReason,
  },
  {
    capture: "lightpcapng__results-packets.merged.pcapng",
    packets: [1, 493],
    columns: canInUdp,
    got: null,
    reason: canInUdpReason,
  },
  {
    capture: "esnetlpn__packets.merged.pcapng",
    packets: [494, 561],
    columns: ["ts"],
    got: null,
    reason: beyondYears,
  },
  {
    capture: "lightpcapng__pcaps-dhcp_big_endian.pcapng",
    packets: [1, 4],
    columns: ["ts"],
    got: null,
    reason: beyondYears,
  },
  {
    capture: "lightpcapng__results-packets.merged.pcapng",
    packets: [494, 497],
    columns: ["ts"],
    got: null,
    reason: beyondYears,
  },
  {
    capture: "arkime__arkime_synthetic.pcap",
    packets: [316, 316],
    columns: someip,
    got: null,
    reason: notSomeip,
  },
  {
    capture: "arkime__arkime_synthetic.pcap",
    packets: [451, 452],
    columns: someip,
    got: null,
    reason: notSomeip,
  },
  {
    capture: "arkime__arkime_synthetic.pcap",
    packets: [574, 574],
    columns: someip,
    got: null,
    reason: notSomeip,
  },
  {
    capture: "suricata__arp-encap.pcap",
    packets: [1, 1],
    columns: ["arp_opcode"],
    expected: 1,
    got: null,
    reason: "the ARP packet is inside GRE: columns mean the outermost headers",
  },
  {
    capture: "suricata__fuzz.pcap",
    packets: [1, 1],
    columns: [
      ...["eth_src", "eth_dst", "eth_type", "ip_src", "ip_dst", "ip_ttl", "ip_dscp", "ip_id"],
      ...["ip_more_fragments", "ip_fragment_offset", "src_port", "dst_port"],
      ...["tcp_seq", "tcp_ack", "tcp_flags", "tcp_window"],
    ],
    reason: "tshark guesses a variant with longer record headers and reads the packet 8 bytes too late",
  },
  {
    capture: "tcpdump__atm-oam-loopback-print-overrun.pcap",
    packets: [1, 1],
    columns: ["original_length", "captured_length"],
    reason:
      "tshark takes the four bytes of the ATM pseudo header off the lengths; the record header has them",
  },
];
