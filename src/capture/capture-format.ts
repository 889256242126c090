/** Magic numbers of capture files, read as big-endian 32 bits. */
const PCAP_MICROSECONDS = 0xa1b2c3d4;
const PCAP_NANOSECONDS = 0xa1b23c4d;
/** Written by a patched tcpdump of 1999: records have 24-byte headers. */
const PCAP_MODIFIED = 0xa1b2cd34;
/** Section Header Block type: the same in both byte orders. */
export const SECTION_HEADER_BLOCK = 0x0a0d0d0a;
/** Byte-order magic of a Section Header Block. */
export const BYTE_ORDER_MAGIC = 0x1a2b3c4d;
export const BYTE_ORDER_MAGIC_SWAPPED = 0x4d3c2b1a;

/** What a pcap file's magic number says. */
export interface PcapVariant {
  readonly name: "pcap" | "pcap with nanoseconds" | "modified pcap";
  readonly littleEndian: boolean;
  readonly nanosecondsPerTick: number;
  readonly recordHeaderLength: 16 | 24;
}

/** Null for anything that is not the magic number of a pcap file. `magic` as read big-endian. */
export function pcapVariant(magic: number): PcapVariant | null {
  switch (magic) {
    case PCAP_MICROSECONDS:
    case swapped(PCAP_MICROSECONDS):
      return {
        name: "pcap",
        littleEndian: magic !== PCAP_MICROSECONDS,
        nanosecondsPerTick: 1000,
        recordHeaderLength: 16,
      };
    case PCAP_NANOSECONDS:
    case swapped(PCAP_NANOSECONDS):
      return {
        name: "pcap with nanoseconds",
        littleEndian: magic !== PCAP_NANOSECONDS,
        nanosecondsPerTick: 1,
        recordHeaderLength: 16,
      };
    case PCAP_MODIFIED:
    case swapped(PCAP_MODIFIED):
      return {
        name: "modified pcap",
        littleEndian: magic !== PCAP_MODIFIED,
        nanosecondsPerTick: 1000,
        recordHeaderLength: 24,
      };
    default:
      return null;
  }
}

function swapped(value: number): number {
  return (
    ((value >>> 24) | ((value >>> 8) & 0xff00) | ((value << 8) & 0xff0000) | ((value & 0xff) << 24)) >>> 0
  );
}

/** Beginnings of files that people take for captures, each with what to do about it. */
const knownOthers: readonly { readonly begins: string; readonly what: string }[] = [
  { begins: "MDF     ", what: "an ASAM MDF measurement (MF4): export it as pcapng" },
  { begins: "UnFinMF ", what: "an unfinished ASAM MDF measurement (MF4): finalize and export it as pcapng" },
  { begins: "LOGG", what: "a Vector BLF log: export it as pcapng" },
  { begins: "date ", what: "a Vector ASC log: export it as pcapng" },
  { begins: "snoop\0\0\0", what: "a snoop capture: convert it to pcapng" },
  { begins: "PK\x03\x04", what: "a ZIP archive: unpack it; single captures may be gzip or zstd" },
  { begins: "7z\xbc\xaf\x27\x1c", what: "a 7-Zip archive: unpack it; single captures may be gzip or zstd" },
  { begins: "BZh", what: "bzip2 data: captures may be gzip or zstd" },
  { begins: "\xfd7zXZ\0", what: "xz data: captures may be gzip or zstd" },
  { begins: "\x1f\x8b", what: "gzip data inside the compressed capture: compress once" },
  { begins: "\x28\xb5\x2f\xfd", what: "zstd data inside the compressed capture: compress once" },
  { begins: "<", what: "HTML or XML text" },
  { begins: "{", what: "JSON text" },
  { begins: "PAR1", what: "a Parquet file" },
];

/** Why these first bytes (as many as there are, up to 64) are no capture. */
export function notACapture(bytes: Uint8Array): string {
  const text = String.fromCharCode(...bytes.subarray(0, 64));
  const known = knownOthers.find((other) => text.startsWith(other.begins));
  const begins = Array.from(bytes.subarray(0, 4), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  const what = known?.what ?? (/^[\t\n\r -~]+$/.test(text) ? "text" : `data that begins with ${begins}`);
  return `not a pcap or pcapng capture, but ${what}`;
}
