/** What one capture may cost. Lengths that a file claims are held against these before anything is held in memory. */
export interface CaptureLimits {
  /** Bytes of options in one pcapng block that is read (sections, interfaces, packets). */
  readonly optionBytes: number;
  /** Interfaces in one pcapng section. */
  readonly interfaces: number;
  /** Bytes of all interface names in one pcapng section. */
  readonly interfaceNameBytes: number;
}

/** Far above what loggers write, and cheap to hold: a section at all three limits costs some 50 MB. */
export const captureLimits: CaptureLimits = {
  optionBytes: 1 << 20,
  interfaces: 1 << 17,
  interfaceNameBytes: 1 << 24,
};

const MiB = 1 << 20;
/** Wireshark's `WTAP_MAX_PACKET_SIZE_STANDARD`: a larger captured length is a sign of damage, not of a large packet. */
const MAX_CAPTURED_LENGTH = 262_144;

/** The largest captured length of a packet, as Wireshark has it: three link types carry larger packets by their nature. */
export function maxCapturedLength(linkType: number): number {
  switch (linkType) {
    case 231: // D-Bus messages
    case 249: // USBPcap
      return 128 * MiB;
    case 279: // Elektrobit high speed capture and replay
      return 8 * MiB;
    default:
      return MAX_CAPTURED_LENGTH;
  }
}
