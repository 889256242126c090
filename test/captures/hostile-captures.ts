import { gzipSync } from "node:zlib";
import {
  Bytes,
  concatenated,
  emptyPackets,
  PcapngBlocks,
  pcap,
  pcapHeader,
  pcapRecord,
} from "../support/captures/capture-builder.ts";
import { data, ethernet } from "../support/captures/frame-builder.ts";
import { rawBlock, runLengthBlock, zstdFrame } from "../support/captures/zstd-frames.ts";

/** Captures that are made to cost more than their size: each must end soon and small, whatever it claims. */
export interface HostileCapture {
  readonly name: string;
  readonly bytes: () => Uint8Array;
}

const MiB = 1 << 20;
const blocks = new PcapngBlocks();
const frame = ethernet(0x0800, data(46));
const FOUR_GIB = 0xffff_ffff;
const LONGEST_PACKET = 262_144;

/** The longest packet, full of one tag in another. */
function nestedTags(type: number, tag: Uint8Array): Uint8Array {
  const tags = concatenated(
    ...Array.from({ length: Math.floor((LONGEST_PACKET - 14) / tag.length) }, () => tag),
  );
  return pcap(
    {},
    Array.from({ length: 10 }, () => ({ bytes: ethernet(type, tags) })),
  );
}

/** Packets without a byte behind a capture's beginning, for ever. */
function emptyPacketsAfter(header: Uint8Array, length: number): Uint8Array {
  return concatenated(header, emptyPackets(length));
}

export const hostileCaptures: readonly HostileCapture[] = [
  {
    name: "captured-length-4-gib.pcap",
    bytes: () =>
      concatenated(pcap({}, [{ bytes: frame }]), pcapRecord({}, { bytes: frame, capturedLength: FOUR_GIB })),
  },
  {
    name: "captured-length-4-gib.pcapng",
    bytes: () =>
      concatenated(
        blocks.sectionHeader(),
        blocks.interfaceDescription(),
        blocks.enhancedPacket({ bytes: frame }),
        blocks.enhancedPacket({ bytes: frame, capturedLength: FOUR_GIB }),
      ),
  },
  {
    name: "block-of-4-gib.pcapng",
    bytes: () =>
      concatenated(
        blocks.sectionHeader(),
        blocks.interfaceDescription(),
        blocks.enhancedPacket({ bytes: frame }),
        new Bytes().u32(6, 0xffff_fffc).build(),
        new Uint8Array(MiB),
      ),
  },
  {
    name: "100000-interfaces.pcapng",
    bytes: () => {
      const description = blocks.interfaceDescription({ name: "eth0", linkType: 1, tsresol: 9 });
      const interfaces = Array.from({ length: 100_000 }, () => description);
      return concatenated(
        blocks.sectionHeader(),
        ...interfaces,
        blocks.enhancedPacket({ interfaceId: 99_999, bytes: frame }),
      );
    },
  },
  {
    name: "20000-sections.pcapng",
    bytes: () => {
      const section = concatenated(
        blocks.sectionHeader(),
        blocks.interfaceDescription(),
        blocks.enhancedPacket({ bytes: frame }),
      );
      return concatenated(...Array.from({ length: 20_000 }, () => section));
    },
  },
  {
    name: "10000-options.pcapng",
    bytes: () => {
      const options = Array.from({ length: 10_000 }, () => [1, data(4)] as const);
      const packets = Array.from({ length: 20 }, () => blocks.enhancedPacket({ bytes: frame, options }));
      return concatenated(blocks.sectionHeader(), blocks.interfaceDescription(), ...packets);
    },
  },
  {
    name: "bomb-of-empty-packets.pcap.gz",
    bytes: () => gzipSync(emptyPacketsAfter(pcapHeader({}), 256 * MiB)),
  },
  {
    name: "bomb-of-large-packets.pcap.gz",
    bytes: () => {
      const record = pcapRecord({}, { bytes: new Uint8Array(LONGEST_PACKET) });
      return gzipSync(concatenated(pcapHeader({}), ...Array.from({ length: 1000 }, () => record)));
    },
  },
  {
    name: "bomb-in-a-bomb.pcap.gz",
    bytes: () => gzipSync(gzipSync(emptyPacketsAfter(pcapHeader({}), 256 * MiB))),
  },
  {
    name: "bomb-of-zeros.pcap.zst",
    bytes: () =>
      zstdFrame(
        rawBlock(pcapHeader({})),
        ...Array.from({ length: 50_000 }, () => runLengthBlock(0, 128 * 1024)),
      ),
  },
  // EtherTypes that lead to another one, themselves again.
  { name: "nested-vlan-tags.pcap", bytes: () => nestedTags(0x8100, Uint8Array.of(0, 1, 0x81, 0)) },
  { name: "nested-mpls-labels.pcap", bytes: () => nestedTags(0x8847, Uint8Array.of(0, 1, 0, 64)) },
  {
    name: "nested-macsec-tags.pcap",
    bytes: () => nestedTags(0x88e5, Uint8Array.of(0, 0, 0, 0, 0, 1, 0x88, 0xe5)),
  },
  {
    name: "nested-metadata-tags.pcap",
    bytes: () => nestedTags(0x8909, Uint8Array.of(1, 1, 0, 1, 0, 9, 0x89, 9)),
  },
  {
    name: "nested-ipv6-headers.pcap",
    bytes: () => {
      const options = concatenated(
        ...Array.from({ length: 8000 }, () => Uint8Array.of(60, 0, 1, 4, 0, 0, 0, 0)),
      );
      const header = new Bytes("big-endian")
        .u32(0x6000_0000)
        .u16(options.length)
        .u8(60, 64)
        .raw(new Uint8Array(32));
      const bytes = ethernet(0x86dd, concatenated(header.build(), options));
      return pcap(
        {},
        Array.from({ length: 50 }, () => ({ bytes })),
      );
    },
  },
];
