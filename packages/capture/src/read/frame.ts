/**
 * One packet as the capture file holds it: the reader's output, before anything in it is decoded.
 *
 * The reader owns the one instance and fills it anew for each packet: a sink must copy what it keeps. `bytes` is a
 * window that is valid only during the call.
 */
export class Frame {
  /** Buffer that holds the captured bytes at `offset`, `capturedLength` long. */
  bytes: Uint8Array = new Uint8Array(0);
  offset = 0;
  /** Bytes present in the file. */
  capturedLength = 0;
  /** Bytes on the wire, as the record says (0 to 2^32-1). */
  originalLength = 0;
  /** LINKTYPE_ value, without FCS bits. */
  linkType = 0;
  /** Byte order of the file or section: a few link layers have numbers as the machine had them that wrote it. */
  bigEndian = false;
  /** Number of FCS bytes at the frame's end, -1 where the file does not say. */
  fcsLength = -1;
  /** Seconds since 1970-01-01 UTC, floor; an exact integer, may be negative. Meaningless while `hasTime` is false. */
  seconds = 0;
  /** 0 to 999,999,999. */
  nanoseconds = 0;
  /** False for a Simple Packet Block, and where the time lies outside the years 1900 to 2299. */
  hasTime = true;
  /** 1, 2, 3 ... within the source. */
  packetNumber = 0;
  /** pcapng section 1, 2 ...; -1 for classic pcap. */
  sectionNumber = -1;
  /** pcapng interface within its section; -1 for classic pcap. */
  interfaceId = -1;
  interfaceName: string | null = null;
  packetComment: string | null = null;
}

/** Receives each packet of a capture in file order, synchronously. */
export type FrameSink = (frame: Frame) => void;
