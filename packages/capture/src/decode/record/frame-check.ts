import { crc32 } from "./crc32.ts";
import { uint16, uint32LittleEndian } from "./fields.ts";
import { EtherType } from "./protocol-numbers.ts";

const FCS_LENGTH = 4;
const HEADER_LENGTH = 14;
const TAG_LENGTH = 4;
/** Shortest Ethernet frame without its frame check sequence (IEEE 802.3 section 3.2.8). */
const MIN_FRAME_LENGTH = 60;
const ARP_LENGTH = 28;

/**
 * Returns the bytes of frame check sequence, 0 or 4, at the end of an Ethernet frame of `length` bytes at `at`, of which the
 * capture holds those before `end`. Capture modules differ in whether they record it, and none says so. IP's and ARP's own
 * length tells, and for other protocols the CRC itself; where neither does it is `assumed`.
 */
export function frameCheckLength(
  bytes: Uint8Array,
  at: number,
  length: number,
  end: number,
  assumed: number,
): number {
  const stated = statedLength(bytes, at, end);
  if (stated !== -1) {
    const shortest = Math.max(stated, MIN_FRAME_LENGTH);
    // Modules may leave the padding of short frames out, with or without the sequence behind it.
    if (length === stated || length === shortest) return 0;
    if (length === stated + FCS_LENGTH || length === shortest + FCS_LENGTH) return FCS_LENGTH;
  }
  if (at + length > end || length < HEADER_LENGTH + FCS_LENGTH) return assumed;
  const data = at + length - FCS_LENGTH;
  if (crc32(bytes, at, data) === uint32LittleEndian(bytes, data)) return FCS_LENGTH;
  return stated === -1 ? assumed : 0;
}

/** Bytes of the frame without padding, as IP or ARP states them; -1 where the frame is of another protocol, or too short. */
function statedLength(bytes: Uint8Array, at: number, end: number): number {
  let next = at + HEADER_LENGTH;
  if (end < next) return -1;
  let type = uint16(bytes, next - 2);
  while (type === EtherType.vlan || type === EtherType.providerBridge || type === EtherType.oldQinQ) {
    next += TAG_LENGTH;
    if (end < next) return -1;
    type = uint16(bytes, next - 2);
  }
  if (type === EtherType.arp) return next - at + ARP_LENGTH;
  if (type === EtherType.ipv4 && end >= next + 4) {
    const total = uint16(bytes, next + 2);
    return total === 0 ? -1 : next - at + total;
  }
  if (type === EtherType.ipv6 && end >= next + 6) {
    const payload = uint16(bytes, next + 4);
    return payload === 0 ? -1 : next - at + 40 + payload;
  }
  return -1;
}
