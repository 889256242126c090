"""Converts one classic pcap capture into one Parquet file with the columns of Deltacap's table, by dpkt and pyarrow:
`dpkt_pyarrow.py CAPTURE OUT.parquet`. What dpkt does not know (SOME/IP, DoIP, PTP) is decoded by hand."""

import gzip
import ipaddress
import os
import struct
import sys
from functools import cache

import dpkt
import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP_ROWS = 131_072
PORT_DOIP = 13_400
ETHER_TYPE_PTP = 0x88F7

TIMESTAMP = pa.timestamp("us", tz="UTC")
INTEGERS = """record_number ts_nanos section_number interface_id link_type eth_type vlan_id vlan_priority inner_vlan_id arp_opcode
    ip_version ip_protocol ip_ttl ip_dscp ip_fragment_offset src_port dst_port tcp_flags tcp_window icmp_type icmp_code can_length
    someip_service_id someip_method_id someip_client_id someip_session_id someip_interface_version someip_message_type
    someip_return_code someip_count doip_payload_type doip_source_address doip_target_address uds_service_id ptp_message_type
    ptp_sequence_id payload_offset payload_length module_device_id"""
TYPES = {
    pa.int32(): INTEGERS,
    pa.int64(): "packet_number captured_length original_length ip_id tcp_seq tcp_ack can_id module_interface_id",
    pa.string(): """vehicle_id capture source_id interface_name packet_comment eth_src eth_dst ip_src ip_dst decode_status""",
    pa.bool_(): "ip_more_fragments can_extended can_remote can_error can_fd",
    TIMESTAMP: "ts ingested_at",
    pa.binary(): "frame",
}
SCHEMA = pa.schema([(name, kind) for kind, names in TYPES.items() for name in names.split()])


@cache
def mac_text(address):
    return ":".join(f"{byte:02x}" for byte in address)


@cache
def ip_text(address):
    return str(ipaddress.ip_address(address))


def decode_ethernet(row, frame):
    ethernet = dpkt.ethernet.Ethernet(frame)
    row["eth_src"] = mac_text(ethernet.src)
    row["eth_dst"] = mac_text(ethernet.dst)
    at = 14
    ether_type = ethernet.type
    for tag in getattr(ethernet, "vlan_tags", ()):
        row["vlan_id"] = tag.id
        row["vlan_priority"] = tag.pri
        ether_type = tag.type
        at += 4
    row["eth_type"] = ether_type
    data = ethernet.data
    if isinstance(data, dpkt.ip.IP):
        return decode_ipv4(row, data, at)
    if isinstance(data, dpkt.ip6.IP6):
        return decode_ipv6(row, data, at)
    if isinstance(data, dpkt.arp.ARP):
        row["arp_opcode"] = data.op
        return at + 28, 0
    if ether_type == ETHER_TYPE_PTP:
        return decode_ptp(row, frame, at)
    return at, len(frame) - at


def decode_ipv4(row, ip, at):
    row["ip_version"] = 4
    row["ip_protocol"] = ip.p
    row["ip_ttl"] = ip.ttl
    row["ip_dscp"] = ip.tos >> 2
    row["ip_id"] = ip.id
    row["ip_fragment_offset"] = ip.offset * 8
    row["ip_more_fragments"] = bool(ip.mf)
    row["ip_src"] = ip_text(ip.src)
    row["ip_dst"] = ip_text(ip.dst)
    return decode_transport(row, ip.data, at + ip.hl * 4)


def decode_ipv6(row, ip, at):
    row["ip_version"] = 6
    row["ip_protocol"] = ip.p
    row["ip_ttl"] = ip.hlim
    row["ip_dscp"] = ip.fc >> 2
    row["ip_src"] = ip_text(ip.src)
    row["ip_dst"] = ip_text(ip.dst)
    return decode_transport(row, ip.data, at + 40)


def decode_transport(row, data, at):
    if isinstance(data, dpkt.udp.UDP):
        row["src_port"] = data.sport
        row["dst_port"] = data.dport
        return decode_someip(row, data.data, at + 8)
    if isinstance(data, dpkt.tcp.TCP):
        row["src_port"] = data.sport
        row["dst_port"] = data.dport
        row["tcp_seq"] = data.seq
        row["tcp_ack"] = data.ack
        row["tcp_window"] = data.win
        row["tcp_flags"] = data.flags
        at += data.off * 4
        if PORT_DOIP in (data.sport, data.dport):
            return decode_doip(row, data.data, at)
        return decode_someip(row, data.data, at)
    if isinstance(data, (dpkt.icmp.ICMP, dpkt.icmp6.ICMP6)):
        row["icmp_type"] = data.type
        row["icmp_code"] = data.code
        return at + 4, len(data) - 4
    return at, len(data)


def decode_someip(row, data, at):
    count = count_someip(data)
    if count == 0:
        return at, len(data)
    service, method, length, client, session, _, version, kind, code = struct.unpack_from(">HHIHHBBBB", data)
    row["someip_service_id"] = service
    row["someip_method_id"] = method
    row["someip_client_id"] = client
    row["someip_session_id"] = session
    row["someip_interface_version"] = version
    row["someip_message_type"] = kind
    row["someip_return_code"] = code
    row["someip_count"] = count
    return at + 16, length - 8


def count_someip(data):
    """The number of messages that all of `data` consists of, 0 where something else is in it."""
    count = at = 0
    while len(data) - at >= 16:
        length, _, protocol, _, kind, code = struct.unpack_from(">IIBBBB", data, at + 4)
        kind &= ~0x20
        valid = code == 0 if kind in (0x00, 0x01, 0x02, 0x40, 0x41, 0x42) else kind in (0x80, 0x81, 0xC0, 0xC1) and code <= 0x5E
        if length < 8 or protocol != 1 or not valid:
            return 0
        count += 1
        at += 8 + length
    return count if at == len(data) else 0


def decode_doip(row, data, at):
    if len(data) < 13 or data[0] ^ data[1] != 0xFF:
        return at, len(data)
    kind, length, source, target, service = struct.unpack_from(">HIHHB", data, 2)
    row["doip_payload_type"] = kind
    row["doip_source_address"] = source
    row["doip_target_address"] = target
    row["uds_service_id"] = service
    return at + 12, length - 4


def decode_ptp(row, frame, at):
    row["ptp_message_type"] = frame[at] & 0xF
    row["ptp_sequence_id"] = struct.unpack_from(">H", frame, at + 30)[0]
    return at + 34, struct.unpack_from(">H", frame, at + 2)[0] - 34


def main(source, output):
    opened = open(source, "rb")
    if opened.read(2) == b"\x1f\x8b":
        opened = gzip.open(source)
    opened.seek(0)
    shared = {
        "capture": f"s3://bench/vehicle/{os.path.basename(source)}",
        "source_id": "0" * 32,
        "vehicle_id": "car-1",
        "link_type": 1,
        "decode_status": "ok",
        "ingested_at": 0,
    }
    with_dictionary = [name for name in SCHEMA.names if name != "frame"]
    packets = 0
    rows = []
    with pq.ParquetWriter(output, SCHEMA, compression="zstd", compression_level=1, use_dictionary=with_dictionary) as writer:
        for time, frame in dpkt.pcap.Reader(opened):
            packets += 1
            nanoseconds = int(time * 1_000_000_000)
            row = {
                **shared,
                "packet_number": packets,
                "ts": nanoseconds // 1000,
                "ts_nanos": nanoseconds % 1000,
                "captured_length": len(frame),
                "original_length": len(frame),
                "frame": frame,
            }
            row["payload_offset"], row["payload_length"] = decode_ethernet(row, frame)
            rows.append(row)
            if len(rows) == ROW_GROUP_ROWS:
                writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
                rows = []
        if rows:
            writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
    print(packets)


main(*sys.argv[1:])
