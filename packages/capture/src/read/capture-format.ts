/** The minor version of a pcap file that is not the first of its input; see {@link isPcapFileHeader}. */
const PLAUSIBLE_MINOR_VERSION = 9;
const SECONDS_OF_A_DAY = 86_400;

/** Magic numbers of pcap: micro- and nanoseconds, and the "modified" one with 24-byte record headers. */
const MICROSECONDS = 0xa1b2c3d4;
const NANOSECONDS = 0xa1b23c4d;
const MODIFIED = 0xa1b2cd34;

/** Type of the Section Header Block, the same in both byte orders: a pcapng file begins with it. */
export const SECTION_HEADER_BLOCK = 0x0a0d0d0a;
/** Bytes of a classic pcap file's header. */
export const PCAP_FILE_HEADER_LENGTH = 24;

/** What a pcap magic number says. */
export interface PcapVariant {
  readonly littleEndian: boolean;
  /** Units of the second field of a record's time. */
  readonly resolution: "microseconds" | "nanoseconds";
  /** 16, or 24 in files of a patched libpcap of 1999 and of some Linux kernels since. */
  readonly recordHeaderLength: 16 | 24;
}

/** The variant for the first four bytes, read big-endian; null when they are no magic number of pcap. */
export function pcapVariant(magic: number): PcapVariant | null {
  switch (magic) {
    case MICROSECONDS:
      return { littleEndian: false, resolution: "microseconds", recordHeaderLength: 16 };
    case 0xd4c3b2a1:
      return { littleEndian: true, resolution: "microseconds", recordHeaderLength: 16 };
    case NANOSECONDS:
      return { littleEndian: false, resolution: "nanoseconds", recordHeaderLength: 16 };
    case 0x4d3cb2a1:
      return { littleEndian: true, resolution: "nanoseconds", recordHeaderLength: 16 };
    case MODIFIED:
      return { littleEndian: false, resolution: "microseconds", recordHeaderLength: 24 };
    case 0x34cdb2a1:
      return { littleEndian: true, resolution: "microseconds", recordHeaderLength: 24 };
    default:
      return null;
  }
}

/** True for a magic number of pcap or pcapng, read in either byte order: the set is closed under swapping. */
export function isMagic(value: number): boolean {
  switch (value) {
    case MICROSECONDS:
    case 0xd4c3b2a1:
    case NANOSECONDS:
    case 0x4d3cb2a1:
    case MODIFIED:
    case 0x34cdb2a1:
    case SECTION_HEADER_BLOCK:
      return true;
    default:
      return false;
  }
}

/** Bytes that {@link isPcapFileHeader} looks at. */
export const PCAP_FILE_HEADER_TOLD = 16;

/**
 * Whether the 16 bytes at `at` begin a pcap file in the midst of an input: captures that were simply concatenated.
 *
 * The same bytes as a record of the file before would be a packet of one of six seconds (the likeliest is in December
 * 2055), of the very microsecond that spells the version, whose captured length is 0 or a time zone, and whose length on
 * the wire is 0 like the header's accuracy field: no capture has such a packet. As a pcapng block they would be of a type
 * that is not assigned, for local use or for the future.
 */
export function isPcapFileHeader(view: DataView, at: number): boolean {
  const variant = pcapVariant(view.getUint32(at));
  if (variant === null) return false;
  const { littleEndian } = variant;
  return (
    view.getUint16(at + 4, littleEndian) === 2 &&
    view.getUint16(at + 6, littleEndian) <= PLAUSIBLE_MINOR_VERSION &&
    Math.abs(view.getInt32(at + 8, littleEndian)) <= SECONDS_OF_A_DAY &&
    view.getUint32(at + 12, littleEndian) === 0
  );
}

/** Whether the 12 bytes at `at` begin a pcapng section. As a pcap record they would claim more than 400 MB. */
export function isSectionHeader(view: DataView, at: number): boolean {
  return view.getUint32(at) === SECTION_HEADER_BLOCK && byteOrderOf(view, at + 8) !== null;
}

/** True: little-endian; null: no byte-order magic (pcapng section 4.1). */
export function byteOrderOf(view: DataView, at: number): boolean | null {
  const magic = view.getUint32(at);
  if (magic === 0x1a2b3c4d) return false;
  return magic === 0x4d3c2b1a ? true : null;
}

/** Bits 16 to 25 of pcap's link type field: must be 0 (draft-ietf-opsawg-pcap section 4). */
export const RESERVED_LINK_TYPE_BITS = 0x03ff0000;

/** Enough to tell the formats below. */
export const FORMAT_NAME_LENGTH = 16;

const foreignFormats: readonly (readonly [
  beginning: string | readonly number[],
  name: string,
  advice: string,
])[] = [
  ["MDF     ", "an ASAM MDF measurement (MF4)", "export its bus traffic as pcapng"],
  [
    "UnFinMF ",
    "an unfinished ASAM MDF measurement (MF4)",
    "finalize it and export its bus traffic as pcapng",
  ],
  ["LOGG", "a Vector binary log (BLF)", "convert it to pcapng"],
  ["date ", "a Vector text log (ASC)", "convert it to pcapng"],
  ["; $FILEVERSION", "a PEAK trace (TRC)", "convert it to pcapng"],
  [";$FILEVERSION", "a PEAK trace (TRC)", "convert it to pcapng"],
  ["***BUSMASTER", "a BUSMASTER log", "convert it to pcapng"],
  ["DLT\u0001", "an AUTOSAR DLT log", "it holds messages, no packets"],
  ["snoop\0\0\0", "a Solaris snoop capture", "convert it with editcap"],
  ["\u0000\u0001XCP\0", "a NetXray capture", "convert it with editcap"],
  ["XCP\0", "a NetXray capture", "convert it with editcap"],
  ["TRSNIFF data", "a Network General Sniffer capture", "convert it with editcap"],
  ["GMBU", "a Microsoft Network Monitor capture", "convert it with editcap"],
  ["RTSS", "a Microsoft Network Monitor 1 capture", "convert it with editcap"],
  ["btsnoop\0", "a Bluetooth snoop log", "convert it with editcap"],
  ["PK\u0003\u0004", "a ZIP archive", "unpack it first; gzip and zstd are read as they are"],
  ["PK\u0005\u0006", "an empty ZIP archive", "nothing is in it"],
  ["7z\u00bc\u00af\u0027\u001c", "a 7-Zip archive", "unpack it first; gzip and zstd are read as they are"],
  ["BZh", "bzip2 data", "unpack it first; gzip and zstd are read as they are"],
  ["\u00fd7zXZ\0", "xz data", "unpack it first; gzip and zstd are read as they are"],
  [[0x04, 0x22, 0x4d, 0x18], "LZ4 data", "unpack it first; gzip and zstd are read as they are"],
  [[0x1f, 0x8b], "gzip data within compressed data", "compress the capture once"],
  [[0x28, 0xb5, 0x2f, 0xfd], "zstd data within compressed data", "compress the capture once"],
  ["PAR1", "a Parquet file", "captures are pcap or pcapng"],
  ["<!DOCTYPE", "an HTML page", "the upload may have stored an error page"],
  ["<!doctype", "an HTML page", "the upload may have stored an error page"],
  ["<html", "an HTML page", "the upload may have stored an error page"],
  ["<?xml", "an XML document", "the upload may have stored an error answer"],
  ["<Error>", "an XML document", "the upload may have stored an error answer"],
  ["{", "a JSON document", "captures are pcap or pcapng"],
];

/** Why the bytes that begin an input are no capture, with what to do about it. */
export function notACapture(bytes: Uint8Array): string {
  for (const [beginning, name, advice] of foreignFormats) {
    if (beginsWith(bytes, beginning)) return `not a capture but ${name}: ${advice}`;
  }
  if (bytes.every((byte) => byte === 0)) {
    return "not a capture: it begins with zeros, as a file whose content was never written";
  }
  const hex = Array.from(bytes.subarray(0, 4), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return `not a capture: it begins with ${hex}, which is neither pcap nor pcapng (plain, gzip or zstd)`;
}

function beginsWith(bytes: Uint8Array, beginning: string | readonly number[]): boolean {
  if (bytes.length < beginning.length) return false;
  for (let i = 0; i < beginning.length; i++) {
    const expected = typeof beginning === "string" ? beginning.charCodeAt(i) : beginning[i];
    if (bytes[i] !== expected) return false;
  }
  return true;
}
