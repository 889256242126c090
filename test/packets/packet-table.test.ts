import { expect, test } from "vitest";
import { packetTable } from "../../src/packets/packet-table.ts";

/** The contract with those who query (docs/table.md): names and types in order. */
const contract = `
date date; vehicle_id string; capture string; source_id string; packet_number long; record_number integer; ts timestamp
ts_nanos integer; section_number integer; interface_id integer; interface_name string; packet_comment string
link_type integer; captured_length long; original_length long; eth_src string; eth_dst string; eth_type integer
vlan_id integer; vlan_priority integer; inner_vlan_id integer; arp_opcode integer; ip_version integer
ip_protocol integer; ip_ttl integer; ip_dscp integer; ip_src string; ip_dst string; ip_id long
ip_fragment_offset integer; ip_more_fragments boolean; src_port integer; dst_port integer; tcp_flags integer
tcp_window integer; tcp_seq long; tcp_ack long; icmp_type integer; icmp_code integer; can_id long
can_extended boolean; can_remote boolean; can_error boolean; can_fd boolean; can_length integer
someip_service_id integer; someip_method_id integer; someip_client_id integer; someip_session_id integer
someip_interface_version integer; someip_message_type integer; someip_return_code integer; someip_count integer
doip_payload_type integer; doip_source_address integer; doip_target_address integer; uds_service_id integer
ptp_message_type integer; ptp_sequence_id integer; payload_offset integer; payload_length integer
decode_status string; ingested_at timestamp; frame binary`;

const names = contract.trim().split(/[;\n]\s*/);

test("the table begins with the contract's columns, in their order and of their types", () => {
  const columns = packetTable.columns.map(({ name, type }) => `${name} ${type}`);
  expect(columns.slice(0, names.length)).toEqual(names);
});

test("it is called packets and partitioned by date, which no other column is", () => {
  expect(packetTable.name).toBe("packets");
  expect(packetTable.partitionColumn).toBe("date");
  expect(packetTable.columns.filter(({ type }) => type === "date").map(({ name }) => name)).toEqual(["date"]);
});

test("every column has a name of its own, in lower case, and says what it means", () => {
  expect(new Set(packetTable.columns.map(({ name }) => name)).size).toBe(packetTable.columns.length);
  for (const { name, meaning } of packetTable.columns) {
    expect(name).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/);
    expect(meaning, name).not.toBe("");
  }
});

test("what queries filter by has statistics; booleans, bytes and the partition have none", () => {
  const filtered = packetTable.columns.filter(({ statistics }) => statistics);
  expect(filtered.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      "vehicle_id",
      "capture",
      "source_id",
      "ts",
      "ip_src",
      "ip_dst",
      "can_id",
      "ingested_at",
    ]),
  );
  expect(filtered.filter(({ type }) => ["boolean", "binary", "date"].includes(type))).toEqual([]);
});
