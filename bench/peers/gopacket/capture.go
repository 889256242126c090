package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/klauspost/compress/gzip"
)

const readBuffer = 1 << 20

// packetSource gives packets until io.EOF; the bytes are valid until the next call.
type packetSource interface {
	ZeroCopyReadPacketData() (data []byte, info gopacket.CaptureInfo, err error)
}

// capture is an opened pcap or pcapng file, told by its content, plain or gzip.
type capture struct {
	source packetSource
	// nil for classic pcap, which has one link type and no interfaces.
	pcapng   *pcapgo.NgReader
	linkType layers.LinkType
	file     *os.File
}

func openCapture(path string) (*capture, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	reader := bufio.NewReaderSize(file, readBuffer)
	magic, err := reader.Peek(4)
	if err != nil {
		return nil, fmt.Errorf("%s is shorter than a magic number: %w", path, err)
	}
	if bytes.Equal(magic[:2], []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(reader)
		if err != nil {
			return nil, err
		}
		reader = bufio.NewReaderSize(unzipped, readBuffer)
		if magic, err = reader.Peek(4); err != nil {
			return nil, err
		}
	}
	if binary.BigEndian.Uint32(magic) == 0x0a0d0d0a {
		return openPcapng(file, reader)
	}
	pcap, err := pcapgo.NewReader(reader)
	if err != nil {
		return nil, err
	}
	return &capture{source: pcap, linkType: pcap.LinkType(), file: file}, nil
}

func openPcapng(file *os.File, reader io.Reader) (*capture, error) {
	pcapng, err := pcapgo.NewNgReader(reader, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	if err != nil {
		return nil, err
	}
	return &capture{source: pcapng, pcapng: pcapng, file: file}, nil
}

// linkTypeOf is the packet's own link type: in pcapng that of its interface.
func (c *capture) linkTypeOf(info gopacket.CaptureInfo) layers.LinkType {
	if c.pcapng == nil {
		return c.linkType
	}
	return info.AncillaryData[0].(layers.LinkType)
}
