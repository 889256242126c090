import type { Random } from "../random.ts";
import {
  type ByteOrder,
  byteOrders,
  comment,
  concatenated,
  filling,
  PcapMagic,
  PcapngBlocks,
  pcap,
} from "./capture-builder.ts";

/** A capture made in code, with what a reader must find in it. */
export interface CaptureFixture {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly packets: number;
}

/** Small captures of every format in both byte orders, alone and back to back. */
export function captureFixtures(): CaptureFixture[] {
  const fixtures: CaptureFixture[] = [];
  for (const order of byteOrders) {
    for (const [name, magic] of Object.entries(PcapMagic)) {
      fixtures.push({ name: `pcap ${name} ${order}`, bytes: smallPcap(order, magic), packets: 4 });
    }
    fixtures.push({ name: `pcapng ${order}`, bytes: smallPcapng(order), packets: 6 });
  }
  const [le, be] = [smallPcapng("little-endian"), smallPcapng("big-endian")];
  const pcapLe = smallPcap("little-endian", PcapMagic.microseconds);
  const pcapBe = smallPcap("big-endian", PcapMagic.nanoseconds);
  fixtures.push({ name: "sections of both byte orders", bytes: concatenated(le, be, le), packets: 18 });
  fixtures.push({
    name: "pcap, pcap, pcapng, pcap",
    bytes: concatenated(pcapLe, pcapBe, be, pcapLe),
    packets: 18,
  });
  return fixtures;
}

/** Four packets: of 5, 0, 64 and 1 bytes, cut and not, and one whose sub-second is more than a second. */
export function smallPcap(order: ByteOrder, magic: number): Uint8Array {
  return pcap({ order, magic }, [
    { seconds: 1_700_000_000, fraction: 123_456, bytes: filling(5), originalLength: 60 },
    { seconds: 0xffffffff, fraction: 999_999, bytes: filling(0) },
    { seconds: 7, fraction: 2_500_000, bytes: filling(64, 2) },
    { seconds: 0, fraction: 0, bytes: filling(1, 3) },
  ]);
}

/** Six packets in three kinds of packet block, among blocks that are skipped. */
export function smallPcapng(order: ByteOrder): Uint8Array {
  const blocks = new PcapngBlocks(order);
  return concatenated(
    blocks.sectionHeader([comment("made in code")]),
    blocks.interfaceDescription({ name: "can0", linkType: 227, snapLength: 24 }),
    blocks.enhancedPacket({ time: 1_700_000_000_123_456n, bytes: filling(9), options: [comment("first")] }),
    blocks.nameResolution(),
    blocks.simplePacket(filling(24, 1), 100),
    blocks.interfaceDescription({ name: "eth0", tsresol: 9, tsoffset: -5n, fcsLength: 4 }),
    blocks.customBlock(filling(20)),
    blocks.enhancedPacket({ interfaceId: 1, time: 5_000_000_001n, bytes: filling(60, 2) }),
    blocks.block(0x0badcafe, filling(40)),
    blocks.oldPacket({ interfaceId: 1, time: 6_000_000_000n, bytes: filling(3, 3), originalLength: 70 }),
    blocks.interfaceStatistics(),
    blocks.decryptionSecrets(filling(13)),
    blocks.enhancedPacket({ interfaceId: 1, time: 7_000_000_000n, bytes: filling(0) }),
    blocks.enhancedPacket({ interfaceId: 0, time: 8_000_000n, bytes: filling(1, 4) }),
  );
}

/** The bytes with one to four of them changed; returns also where the first change lies. */
export function mutated(bytes: Uint8Array, random: Random): { bytes: Uint8Array; first: number } {
  const out = bytes.slice();
  let first = bytes.length;
  const changes = random.between(1, 4);
  for (let i = 0; i < changes; i++) {
    const at = random.below(out.length);
    const before = out[at] ?? 0;
    // Extreme values in length fields find more than random ones do.
    const after = random.chance(0.4) ? random.pick([0, 1, 3, 4, 0x7f, 0x80, 0xff]) : random.below(256);
    out[at] = after;
    if (after !== before) first = Math.min(first, at);
  }
  return { bytes: out, first };
}
