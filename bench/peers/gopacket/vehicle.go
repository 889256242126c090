package main

import "encoding/binary"

// What gopacket has no decoder for, as far as the seeded captures hold it.

func (d *decoder) decodeCan(row int, frame []byte) {
	t := d.table
	idAndFlags := binary.BigEndian.Uint32(frame)
	extended := idAndFlags&0x8000_0000 != 0
	id := idAndFlags & 0x7ff
	if extended {
		id = idAndFlags & 0x1fff_ffff
	}
	t.canID.set(row, int64(id))
	t.canExtended.set(row, extended)
	t.canRemote.set(row, idAndFlags&0x4000_0000 != 0)
	t.canError.set(row, idAndFlags&0x2000_0000 != 0)
	t.canFd.set(row, frame[5]&4 != 0 || frame[4] > 8)
	t.canLength.set(row, int32(frame[4]))
	setPayload(t, row, frame, frame[8:8+int(frame[4])])
}

// decodeSomeip returns the payload of the first message where all of `bytes` is SOME/IP, and `bytes` where it is not.
func (d *decoder) decodeSomeip(row int, bytes []byte) []byte {
	count := countSomeip(bytes)
	if count == 0 {
		return bytes
	}
	t := d.table
	t.someipServiceID.set(row, int32(binary.BigEndian.Uint16(bytes)))
	t.someipMethodID.set(row, int32(binary.BigEndian.Uint16(bytes[2:])))
	t.someipClientID.set(row, int32(binary.BigEndian.Uint16(bytes[8:])))
	t.someipSessionID.set(row, int32(binary.BigEndian.Uint16(bytes[10:])))
	t.someipInterfaceVersion.set(row, int32(bytes[13]))
	t.someipMessageType.set(row, int32(bytes[14]))
	t.someipReturnCode.set(row, int32(bytes[15]))
	t.someipCount.set(row, count)
	return bytes[16 : 8+binary.BigEndian.Uint32(bytes[4:])]
}

// countSomeip is the number of messages that `bytes` consists of, 0 where something else is in it.
func countSomeip(bytes []byte) int32 {
	count := int32(0)
	for len(bytes) >= 16 {
		length := uint64(binary.BigEndian.Uint32(bytes[4:]))
		if length < 8 || bytes[12] != 1 || !isSomeipType(bytes[14], bytes[15]) || 8+length > uint64(len(bytes)) {
			return 0
		}
		count++
		bytes = bytes[8+length:]
	}
	if len(bytes) > 0 {
		return 0
	}
	return count
}

func isSomeipType(messageType, returnCode byte) bool {
	switch messageType &^ 0x20 {
	case 0x00, 0x01, 0x02, 0x40, 0x41, 0x42:
		return returnCode == 0
	case 0x80, 0x81, 0xc0, 0xc1:
		return returnCode <= 0x5e
	}
	return false
}

func (d *decoder) decodeDoip(row int, bytes []byte) []byte {
	if len(bytes) < 12 || bytes[0]^bytes[1] != 0xff {
		return bytes
	}
	t := d.table
	end := 8 + int(binary.BigEndian.Uint32(bytes[4:]))
	t.doipPayloadType.set(row, int32(binary.BigEndian.Uint16(bytes[2:])))
	t.doipSourceAddress.set(row, int32(binary.BigEndian.Uint16(bytes[8:])))
	t.doipTargetAddress.set(row, int32(binary.BigEndian.Uint16(bytes[10:])))
	t.udsServiceID.set(row, int32(bytes[12]))
	return bytes[12:end]
}

func (d *decoder) decodePtp(row int, bytes []byte) []byte {
	t := d.table
	t.ptpMessageType.set(row, int32(bytes[0]&0xf))
	t.ptpSequenceID.set(row, int32(binary.BigEndian.Uint16(bytes[30:])))
	return bytes[34:binary.BigEndian.Uint16(bytes[2:])]
}
