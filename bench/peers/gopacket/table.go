package main

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// table holds the columns of docs/table.md but `date`, which lies in the folders' names.
type table struct {
	columns []column

	vehicleID, capture, sourceID                               *cells[string]
	packetNumber                                               *cells[int64]
	recordNumber                                               *cells[int32]
	ts                                                         *cells[arrow.Timestamp]
	tsNanos, sectionNumber, interfaceID                        *cells[int32]
	interfaceName, packetComment                               *cells[string]
	linkType                                                   *cells[int32]
	capturedLength, originalLength                             *cells[int64]
	ethSrc, ethDst                                             *cells[string]
	ethType, vlanID, vlanPriority, innerVlanID, arpOpcode      *cells[int32]
	ipVersion, ipProtocol, ipTTL, ipDscp                       *cells[int32]
	ipSrc, ipDst                                               *cells[string]
	ipID                                                       *cells[int64]
	ipFragmentOffset                                           *cells[int32]
	ipMoreFragments                                            *cells[bool]
	srcPort, dstPort, tcpFlags, tcpWindow                      *cells[int32]
	tcpSeq, tcpAck                                             *cells[int64]
	icmpType, icmpCode                                         *cells[int32]
	canID                                                      *cells[int64]
	canExtended, canRemote, canError, canFd                    *cells[bool]
	canLength                                                  *cells[int32]
	someipServiceID, someipMethodID, someipClientID            *cells[int32]
	someipSessionID, someipInterfaceVersion, someipMessageType *cells[int32]
	someipReturnCode, someipCount                              *cells[int32]
	doipPayloadType, doipSourceAddress, doipTargetAddress      *cells[int32]
	udsServiceID, ptpMessageType, ptpSequenceID                *cells[int32]
	payloadOffset, payloadLength                               *cells[int32]
	decodeStatus                                               *cells[string]
	ingestedAt                                                 *cells[arrow.Timestamp]
	frame                                                      *frames
	moduleDeviceID                                             *cells[int32]
	moduleInterfaceID                                          *cells[int64]
}

func newTable() *table {
	t := &table{
		vehicleID: strings("vehicle_id"), capture: strings("capture"), sourceID: strings("source_id"),
		packetNumber: longs("packet_number"), recordNumber: integers("record_number"),
		ts: timestamps("ts"), tsNanos: integers("ts_nanos"),
		sectionNumber: integers("section_number"), interfaceID: integers("interface_id"),
		interfaceName: strings("interface_name"), packetComment: strings("packet_comment"),
		linkType: integers("link_type"), capturedLength: longs("captured_length"), originalLength: longs("original_length"),
		ethSrc: strings("eth_src"), ethDst: strings("eth_dst"), ethType: integers("eth_type"),
		vlanID: integers("vlan_id"), vlanPriority: integers("vlan_priority"), innerVlanID: integers("inner_vlan_id"),
		arpOpcode: integers("arp_opcode"),
		ipVersion: integers("ip_version"), ipProtocol: integers("ip_protocol"), ipTTL: integers("ip_ttl"), ipDscp: integers("ip_dscp"),
		ipSrc: strings("ip_src"), ipDst: strings("ip_dst"), ipID: longs("ip_id"),
		ipFragmentOffset: integers("ip_fragment_offset"), ipMoreFragments: booleans("ip_more_fragments"),
		srcPort: integers("src_port"), dstPort: integers("dst_port"),
		tcpFlags: integers("tcp_flags"), tcpWindow: integers("tcp_window"), tcpSeq: longs("tcp_seq"), tcpAck: longs("tcp_ack"),
		icmpType: integers("icmp_type"), icmpCode: integers("icmp_code"),
		canID: longs("can_id"), canExtended: booleans("can_extended"), canRemote: booleans("can_remote"),
		canError: booleans("can_error"), canFd: booleans("can_fd"), canLength: integers("can_length"),
		someipServiceID: integers("someip_service_id"), someipMethodID: integers("someip_method_id"),
		someipClientID: integers("someip_client_id"), someipSessionID: integers("someip_session_id"),
		someipInterfaceVersion: integers("someip_interface_version"), someipMessageType: integers("someip_message_type"),
		someipReturnCode: integers("someip_return_code"), someipCount: integers("someip_count"),
		doipPayloadType: integers("doip_payload_type"), doipSourceAddress: integers("doip_source_address"),
		doipTargetAddress: integers("doip_target_address"), udsServiceID: integers("uds_service_id"),
		ptpMessageType: integers("ptp_message_type"), ptpSequenceID: integers("ptp_sequence_id"),
		payloadOffset: integers("payload_offset"), payloadLength: integers("payload_length"),
		decodeStatus: strings("decode_status"), ingestedAt: timestamps("ingested_at"), frame: newFrames(),
		moduleDeviceID: integers("module_device_id"), moduleInterfaceID: longs("module_interface_id"),
	}
	t.columns = []column{
		t.vehicleID, t.capture, t.sourceID, t.packetNumber, t.recordNumber, t.ts, t.tsNanos, t.sectionNumber,
		t.interfaceID, t.interfaceName, t.packetComment, t.linkType, t.capturedLength, t.originalLength,
		t.ethSrc, t.ethDst, t.ethType, t.vlanID, t.vlanPriority, t.innerVlanID, t.arpOpcode,
		t.ipVersion, t.ipProtocol, t.ipTTL, t.ipDscp, t.ipSrc, t.ipDst, t.ipID, t.ipFragmentOffset, t.ipMoreFragments,
		t.srcPort, t.dstPort, t.tcpFlags, t.tcpWindow, t.tcpSeq, t.tcpAck, t.icmpType, t.icmpCode,
		t.canID, t.canExtended, t.canRemote, t.canError, t.canFd, t.canLength,
		t.someipServiceID, t.someipMethodID, t.someipClientID, t.someipSessionID, t.someipInterfaceVersion,
		t.someipMessageType, t.someipReturnCode, t.someipCount,
		t.doipPayloadType, t.doipSourceAddress, t.doipTargetAddress, t.udsServiceID, t.ptpMessageType, t.ptpSequenceID,
		t.payloadOffset, t.payloadLength, t.decodeStatus, t.ingestedAt, t.frame, t.moduleDeviceID, t.moduleInterfaceID,
	}
	return t
}

func (t *table) schema() *arrow.Schema {
	fields := make([]arrow.Field, len(t.columns))
	for i, column := range t.columns {
		fields[i] = column.field()
	}
	return arrow.NewSchema(fields, nil)
}

func (t *table) take(schema *arrow.Schema, rows int) arrow.RecordBatch {
	arrays := make([]arrow.Array, len(t.columns))
	for i, column := range t.columns {
		arrays[i] = column.build(rows)
	}
	return array.NewRecordBatch(schema, arrays, int64(rows))
}
