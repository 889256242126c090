import { captureLimits } from "../read/capture-limits.ts";
import { concatenated } from "../read/concatenated.ts";
import { isTableTime } from "../read/timestamp.ts";
import {
  type Clock,
  enhancedPacketBlock,
  interfaceDescriptionBlock,
  SECTION_HEADER_LENGTH,
  sectionHeaderBlock,
  simplePacketBlock,
  simplePacketLength,
  UnwritableError,
} from "./write-pcapng-blocks.ts";

export { UnwritableError } from "./write-pcapng-blocks.ts";

/** A packet to be written into a capture file; the bytes are copied. */
export interface PacketToWrite {
  readonly linkType: number;
  /** pcapng section 1, 2 ...; -1 where the packet came from classic pcap; 1 where it is left out. */
  readonly sectionNumber?: number;
  /** Interface within its section; -1 where the packet came from classic pcap. */
  readonly interfaceId: number;
  readonly interfaceName: string | null;
  readonly packetComment: string | null;
  /** Null where the packet has no time. */
  readonly time: { readonly seconds: number; readonly nanoseconds: number } | null;
  readonly originalLength: number;
  readonly bytes: Uint8Array;
}

/** Writes one capture file: bytes of the header first, then of each packet. */
export interface CaptureWriter {
  /** Bytes to append to the file for this packet, headers that it needs first included. */
  packet(packet: PacketToWrite): Uint8Array;
}

/**
 * Classic pcap, little-endian, nanosecond resolution (magic 0xa1b23c4d, draft-ietf-opsawg-pcap section 4). The file has one
 * link type and unsigned 32-bit seconds: a packet that does not fit is an error that says so.
 */
export class PcapWriter implements CaptureWriter {
  #linkType: number | null = null;

  packet(packet: PacketToWrite): Uint8Array {
    const first = this.#linkType === null;
    this.#linkType ??= packet.linkType;
    if (packet.linkType !== this.#linkType) {
      throw new UnwritableError(
        `a pcap file has one link type (${this.#linkType} here), and a packet has ${packet.linkType}: write .pcapng`,
      );
    }
    const { time } = packet;
    if (time === null || time.seconds < 0 || time.seconds > 0xffffffff) {
      throw new UnwritableError(
        `a pcap record needs a time from 1970 to 2106, and a packet has ${time?.seconds ?? "none"}: write .pcapng`,
      );
    }
    const length = packet.bytes.length;
    const out = new Uint8Array((first ? 24 : 0) + 16 + length);
    const view = new DataView(out.buffer);
    if (first) writePcapHeader(view, this.#linkType);
    const at = first ? 24 : 0;
    view.setUint32(at, time.seconds, true);
    view.setUint32(at + 4, time.nanoseconds, true);
    view.setUint32(at + 8, length, true);
    view.setUint32(at + 12, packet.originalLength, true);
    out.set(packet.bytes, at + 16);
    return out;
  }
}

function writePcapHeader(view: DataView, linkType: number): void {
  view.setUint32(0, 0xa1b23c4d, true);
  view.setUint16(4, 2, true);
  view.setUint16(6, 4, true);
  view.setUint32(16, 262_144, true);
  view.setUint32(20, linkType, true);
}

/** An interface as its packets tell it: see {@link PcapngWriter}. */
export interface InterfaceToWrite extends Pick<PacketToWrite, "linkType" | "interfaceId" | "interfaceName"> {
  readonly sectionNumber: number;
  /** Seconds of its earliest and latest packet; null where none has a time. */
  readonly firstSecond: number | null;
  readonly lastSecond: number | null;
  /** Whether a packet has a time finer than microseconds. */
  readonly hasNanoseconds: boolean;
  /** Whether a packet has no time. */
  readonly hasUntimed: boolean;
  /** Captured length of a packet without a time that is cut to no multiple of 4 bytes, as only a snapshot length cuts it; else 0. */
  readonly snapLength: number;
}

interface WrittenInterface {
  readonly id: number;
  readonly snapLength: number;
  readonly clock: Clock;
}

/** Seconds, some 544 years: what 64 bits of nanoseconds can count and a little less. */
const ERA = 2 ** 34;
/** Seconds that 64 bits of nanoseconds count at most, some 584 years. */
const NANOSECOND_SPAN = 18_446_744_073;
const NANOSECONDS_BESIDE = 709_551_615;
/** Seconds, some half a million years: the same for microseconds, and a little less. */
const MICROSECOND_SPAN = 2 ** 44;
/** Ticks beyond the year 2299 for a clock of microseconds, and for most of nanoseconds: such a time is none. */
const NO_TIME = 0xffff_ffff_ffff_ffffn;
const UNTIMED: Clock = { resolution: 6, offset: 0 };
/** Empty sections that are written to keep a section's number. */
const MAXIMUM_EMPTY_SECTIONS = 1 << 20;

/**
 * pcapng, little-endian (draft-ietf-opsawg-pcapng). Sections and interfaces keep their numbers where `interfaces` tells beforehand
 * what there will be; interfaces that it does not tell are described when their first packet comes.
 *
 * A packet without a time is a Simple Packet Block where that can hold it: on interface 0, without a comment. Elsewhere only an
 * impossible time can have made it: it is given one, beyond the year 2299.
 */
export class PcapngWriter implements CaptureWriter {
  readonly #planned = new Map<number, InterfaceToWrite[]>();
  readonly #interfaces = new Map<string, WrittenInterface>();
  #section: number | null = null;
  #sections = 0;
  #described = 0;

  constructor(interfaces: readonly InterfaceToWrite[] = []) {
    for (const planned of interfaces) {
      const section = this.#planned.get(planned.sectionNumber);
      if (section === undefined) this.#planned.set(planned.sectionNumber, [planned]);
      else section.push(planned);
    }
  }

  packet(packet: PacketToWrite): Uint8Array {
    const blocks: Uint8Array[] = [];
    const section = packet.sectionNumber ?? 1;
    if (section !== this.#section) this.#beginSection(section, blocks);
    const on = this.#interfaceOf(packet, blocks);
    const { time, bytes, originalLength, packetComment } = packet;
    blocks.push(
      time === null && isSimple(packet, on)
        ? simplePacketBlock(bytes, originalLength)
        : enhancedPacketBlock(on.id, ticks(time, on.clock), bytes, originalLength, packetComment),
    );
    return concatenated(blocks);
  }

  /** Empty sections before it, its header, and the interfaces that are planned for it, at their numbers. */
  #beginSection(section: number, blocks: Uint8Array[]): void {
    const planned = this.#planned.get(section) ?? [];
    const missing = planned.length === 0 ? 0 : section - this.#sections - 1;
    if (missing > 0 && missing <= MAXIMUM_EMPTY_SECTIONS) blocks.push(emptySections(missing));
    blocks.push(sectionHeaderBlock());
    this.#section = section;
    if (section > 0) this.#sections = section;
    this.#interfaces.clear();
    this.#described = 0;
    const placed = planned.filter(
      ({ interfaceId }) => interfaceId >= 0 && interfaceId < captureLimits.interfaces,
    );
    for (const description of placed.sort((a, b) => a.interfaceId - b.interfaceId)) {
      // Interfaces without packets are not known: something stands in their place.
      while (this.#described < description.interfaceId) {
        blocks.push(interfaceDescriptionBlock(description.linkType, null, 0, UNTIMED));
        this.#described++;
      }
      this.#describe(
        keyOf(description, null),
        description,
        description.snapLength,
        clockOf(description),
        blocks,
      );
    }
  }

  #describe(
    key: string,
    on: Pick<PacketToWrite, "linkType" | "interfaceName">,
    snapLength: number,
    clock: Clock,
    blocks: Uint8Array[],
  ): WrittenInterface {
    const written = { id: this.#described++, snapLength, clock };
    this.#interfaces.set(key, written);
    blocks.push(interfaceDescriptionBlock(on.linkType, on.interfaceName, snapLength, clock));
    return written;
  }

  /** The planned one, or one with a clock that can tell the packet's time. */
  #interfaceOf(packet: PacketToWrite, blocks: Uint8Array[]): WrittenInterface {
    const planned = this.#interfaces.get(keyOf(packet, null));
    if (planned !== undefined && canHold(planned, packet)) return planned;
    const clock = this.#clockFor(packet);
    const key = keyOf(packet, clock);
    return this.#interfaces.get(key) ?? this.#describe(key, packet, 0, clock, blocks);
  }

  #clockFor(packet: PacketToWrite): Clock {
    const { time } = packet;
    if (time !== null) return { resolution: 9, offset: Math.floor(time.seconds / ERA) * ERA };
    const first: Clock = { resolution: 9, offset: 0 };
    const on = this.#interfaces.get(keyOf(packet, first)) ?? {
      id: this.#described,
      snapLength: 0,
      clock: first,
    };
    return canHold(on, packet) ? first : UNTIMED;
  }
}

function emptySections(count: number): Uint8Array {
  const header = sectionHeaderBlock();
  const out = new Uint8Array(count * SECTION_HEADER_LENGTH);
  for (let i = 0; i < count; i++) out.set(header, i * SECTION_HEADER_LENGTH);
  return out;
}

function keyOf(
  on: Pick<PacketToWrite, "interfaceId" | "linkType" | "interfaceName">,
  clock: Clock | null,
): string {
  return JSON.stringify([on.interfaceId, on.linkType, on.interfaceName, clock?.resolution, clock?.offset]);
}

/** Nanoseconds where they can tell all of the interface's times, as most tools expect; else microseconds where these can. */
function clockOf({ firstSecond, lastSecond, hasNanoseconds, hasUntimed }: InterfaceToWrite): Clock {
  if (firstSecond === null || lastSecond === null) return UNTIMED;
  const fits = lastSecond - firstSecond <= NANOSECOND_SPAN;
  if (!hasNanoseconds && (hasUntimed || !fits)) return { resolution: 6, offset: Math.min(0, firstSecond) };
  return { resolution: 9, offset: firstSecond >= 0 && lastSecond <= NANOSECOND_SPAN ? 0 : firstSecond };
}

function canHold({ id, snapLength, clock }: WrittenInterface, packet: PacketToWrite): boolean {
  const { time } = packet;
  if (time === null) return tellsNoTime(clock) || isSimple(packet, { id, snapLength, clock });
  const seconds = time.seconds - clock.offset;
  if (seconds === NANOSECOND_SPAN && clock.resolution === 9) return time.nanoseconds <= NANOSECONDS_BESIDE;
  if (clock.resolution === 6)
    return seconds >= 0 && seconds < MICROSECOND_SPAN && time.nanoseconds % 1000 === 0;
  return seconds >= 0 && seconds < NANOSECOND_SPAN;
}

/** Whether {@link NO_TIME} lies outside the table's times on that clock. */
function tellsNoTime({ resolution, offset }: Clock): boolean {
  return resolution === 6 || !isTableTime(offset + NANOSECOND_SPAN);
}

/** Whether a Simple Packet Block on the interface says all of the packet, which has no time. */
function isSimple({ bytes, originalLength, packetComment }: PacketToWrite, on: WrittenInterface): boolean {
  return (
    on.id === 0 &&
    packetComment === null &&
    bytes.length === simplePacketLength(bytes.length, originalLength, on.snapLength)
  );
}

function ticks(time: PacketToWrite["time"], { resolution, offset }: Clock): bigint {
  if (time === null) return NO_TIME;
  const seconds = BigInt(time.seconds - offset);
  return resolution === 9
    ? seconds * 1_000_000_000n + BigInt(time.nanoseconds)
    : seconds * 1_000_000n + BigInt(time.nanoseconds / 1000);
}
