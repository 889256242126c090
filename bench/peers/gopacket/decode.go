package main

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

const (
	linkTypeCanSocketcan = 227
	etherTypePtp         = 0x88f7
	portDoip             = 13_400
)

// decoder fills table rows from frames: the common layers by gopacket's reused layer structs, which allocate nothing for a
// packet; what gopacket does not know (CAN, SOME/IP, DoIP, PTP) by hand.
type decoder struct {
	table  *table
	parser *gopacket.DecodingLayerParser
	found  []gopacket.LayerType

	ethernet layers.Ethernet
	vlan     layers.Dot1Q
	arp      layers.ARP
	ipv4     layers.IPv4
	ipv6     layers.IPv6
	tcp      layers.TCP
	udp      layers.UDP
	icmpv4   layers.ICMPv4
	icmpv6   layers.ICMPv6

	macTexts  map[[6]byte]string
	ipv4Texts map[[4]byte]string
	ipv6Texts map[[16]byte]string
}

func newDecoder(table *table) *decoder {
	d := &decoder{
		table:     table,
		macTexts:  map[[6]byte]string{},
		ipv4Texts: map[[4]byte]string{},
		ipv6Texts: map[[16]byte]string{},
	}
	d.parser = gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet)
	d.parser.SetDecodingLayerContainer(gopacket.DecodingLayerArray(nil))
	for _, layer := range []gopacket.DecodingLayer{
		&d.ethernet, &d.vlan, &d.arp, &d.ipv4, &d.ipv6, &d.tcp, &d.udp, &d.icmpv4, &d.icmpv6,
	} {
		d.parser.AddDecodingLayer(layer)
	}
	d.parser.IgnoreUnsupported = true
	return d
}

func (d *decoder) decode(row int, linkType layers.LinkType, frame []byte) error {
	switch linkType {
	case layers.LinkTypeEthernet:
		return d.decodeEthernet(row, frame)
	case linkTypeCanSocketcan:
		d.decodeCan(row, frame)
		return nil
	}
	return fmt.Errorf("link type %d is in none of the seeded captures", linkType)
}

func (d *decoder) decodeEthernet(row int, frame []byte) error {
	if err := d.parser.DecodeLayers(frame, &d.found); err != nil {
		return err
	}
	t := d.table
	var payload []byte
	ports := [2]layers.TCPPort{}
	for _, layer := range d.found {
		switch layer {
		case layers.LayerTypeEthernet:
			t.ethSrc.set(row, d.macText(d.ethernet.SrcMAC))
			t.ethDst.set(row, d.macText(d.ethernet.DstMAC))
			t.ethType.set(row, int32(d.ethernet.EthernetType))
			payload = d.ethernet.Payload
		case layers.LayerTypeDot1Q:
			t.vlanID.set(row, int32(d.vlan.VLANIdentifier))
			t.vlanPriority.set(row, int32(d.vlan.Priority))
			t.ethType.set(row, int32(d.vlan.Type))
			payload = d.vlan.Payload
		case layers.LayerTypeARP:
			t.arpOpcode.set(row, int32(d.arp.Operation))
			payload = d.arp.Payload[:0]
		case layers.LayerTypeIPv4:
			d.setIPv4(row)
			payload = d.ipv4.Payload
		case layers.LayerTypeIPv6:
			d.setIPv6(row)
			payload = d.ipv6.Payload
		case layers.LayerTypeTCP:
			d.setTCP(row)
			payload, ports = d.tcp.Payload, [2]layers.TCPPort{d.tcp.SrcPort, d.tcp.DstPort}
		case layers.LayerTypeUDP:
			t.srcPort.set(row, int32(d.udp.SrcPort))
			t.dstPort.set(row, int32(d.udp.DstPort))
			payload = d.udp.Payload
		case layers.LayerTypeICMPv4:
			t.icmpType.set(row, int32(d.icmpv4.TypeCode.Type()))
			t.icmpCode.set(row, int32(d.icmpv4.TypeCode.Code()))
			// gopacket counts identifier and sequence number as header.
			payload = d.ipv4.Payload[4:]
		case layers.LayerTypeICMPv6:
			t.icmpType.set(row, int32(d.icmpv6.TypeCode.Type()))
			t.icmpCode.set(row, int32(d.icmpv6.TypeCode.Code()))
			payload = d.icmpv6.Payload
		}
	}
	switch last := d.found[len(d.found)-1]; {
	case last == layers.LayerTypeUDP:
		payload = d.decodeSomeip(row, payload)
	case last == layers.LayerTypeTCP && (ports[0] == portDoip || ports[1] == portDoip):
		payload = d.decodeDoip(row, payload)
	case last == layers.LayerTypeTCP:
		payload = d.decodeSomeip(row, payload)
	case d.etherType() == etherTypePtp:
		payload = d.decodePtp(row, payload)
	}
	setPayload(t, row, frame, payload)
	return nil
}

func (d *decoder) etherType() layers.EthernetType {
	if d.ethernet.EthernetType == layers.EthernetTypeDot1Q {
		return d.vlan.Type
	}
	return d.ethernet.EthernetType
}

// setPayload: a payload is a window of the frame, so that its capacity tells where it begins.
func setPayload(t *table, row int, frame, payload []byte) {
	t.payloadOffset.set(row, int32(cap(frame)-cap(payload)))
	t.payloadLength.set(row, int32(len(payload)))
}

func (d *decoder) setIPv4(row int) {
	t, ip := d.table, &d.ipv4
	t.ipVersion.set(row, 4)
	t.ipProtocol.set(row, int32(ip.Protocol))
	t.ipTTL.set(row, int32(ip.TTL))
	t.ipDscp.set(row, int32(ip.TOS>>2))
	t.ipID.set(row, int64(ip.Id))
	t.ipFragmentOffset.set(row, int32(ip.FragOffset)*8)
	t.ipMoreFragments.set(row, ip.Flags&layers.IPv4MoreFragments != 0)
	t.ipSrc.set(row, d.ipv4Text(ip.SrcIP))
	t.ipDst.set(row, d.ipv4Text(ip.DstIP))
}

func (d *decoder) setIPv6(row int) {
	t, ip := d.table, &d.ipv6
	t.ipVersion.set(row, 6)
	t.ipProtocol.set(row, int32(ip.NextHeader))
	t.ipTTL.set(row, int32(ip.HopLimit))
	t.ipDscp.set(row, int32(ip.TrafficClass>>2))
	t.ipSrc.set(row, d.ipv6Text(ip.SrcIP))
	t.ipDst.set(row, d.ipv6Text(ip.DstIP))
}

func (d *decoder) setTCP(row int) {
	t, tcp := d.table, &d.tcp
	t.srcPort.set(row, int32(tcp.SrcPort))
	t.dstPort.set(row, int32(tcp.DstPort))
	t.tcpSeq.set(row, int64(tcp.Seq))
	t.tcpAck.set(row, int64(tcp.Ack))
	t.tcpWindow.set(row, int32(tcp.Window))
	t.tcpFlags.set(row, int32(binary.BigEndian.Uint16(tcp.Contents[12:])&0xfff))
}

func (d *decoder) macText(address []byte) string {
	key := [6]byte(address)
	text, known := d.macTexts[key]
	if !known {
		text = fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", key[0], key[1], key[2], key[3], key[4], key[5])
		d.macTexts[key] = text
	}
	return text
}

func (d *decoder) ipv4Text(address []byte) string {
	key := [4]byte(address)
	text, known := d.ipv4Texts[key]
	if !known {
		text = netip.AddrFrom4(key).String()
		d.ipv4Texts[key] = text
	}
	return text
}

func (d *decoder) ipv6Text(address []byte) string {
	key := [16]byte(address)
	text, known := d.ipv6Texts[key]
	if !known {
		text = netip.AddrFrom16(key).String()
		d.ipv6Texts[key] = text
	}
	return text
}
