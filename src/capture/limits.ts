/** Link types whose packets are transfers rather than frames (LINKTYPE_DBUS, LINKTYPE_USBPCAP). */
const LARGE_PACKETS = new Set([231, 249]);

/** Captured bytes a packet may have: Wireshark's limits (wiretap/wtap.h), so that both refuse the same records. */
export function maximumCapturedLength(linkType: number): number {
  return LARGE_PACKETS.has(linkType) ? 128 * 1024 * 1024 : 262_144;
}

/** Interfaces of one section, far more than any machine has: what a hostile file can make us remember. */
export const MAXIMUM_INTERFACES = 131_072;

/** Bytes of names of one section's interfaces, for the same reason. */
export const MAXIMUM_INTERFACE_NAMES = 16 * 1024 * 1024;

/** Bytes of a pcapng block that must be held whole (packets aside): section headers, interface descriptions. */
export const MAXIMUM_HELD_BLOCK = 1024 * 1024;

/** Bytes of options behind a packet's data. */
export const MAXIMUM_PACKET_OPTIONS = 1024 * 1024;
