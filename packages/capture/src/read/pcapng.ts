import { isMagic, isPcapFileHeader, PCAP_FILE_HEADER_TOLD } from "./capture-format.ts";
import type { CaptureLimits } from "./capture-limits.ts";
import type { SummaryCollector } from "./capture-summary.ts";
import type { Frame, FrameSink } from "./frame.ts";
import {
  BLOCK_HEADER_LENGTH,
  BLOCK_TRAILER_LENGTH,
  BlockType,
  blockLength,
  type CaptureInterface,
  checkOptionBytes,
  checkRoom,
  checkTrailer,
  readInterfaceDescription,
  readSectionHeader,
  type Section,
  SHORTEST_BLOCK,
} from "./pcapng-blocks.ts";
import { OptionCode, readOptions, readString } from "./pcapng-options.ts";
import { Damaged, type Window } from "./window.ts";

/** Enhanced Packet Block and the obsolete Packet Block: header, interface, time, two lengths. */
const PACKET_BLOCK_FIXED = 28;
const SIMPLE_PACKET_BLOCK_FIXED = 12;

/**
 * Reads pcapng sections, one after another (draft-ietf-opsawg-pcapng). Blocks that hold no packet and describe none are
 * skipped as they come, whatever their length: statistics, names, secrets, custom and unknown blocks.
 */
export class PcapngParser {
  readonly #frame: Frame;
  readonly #sink: FrameSink;
  readonly #summary: SummaryCollector;
  readonly #limits: CaptureLimits;
  #section: Section | null = null;
  /** The block that is being skipped: its length (0: none) and where it began. */
  #skippedLength = 0;
  #skippedOffset = 0;
  /** The window that is being parsed and the FCS length of the packet flags in it, for `#packetOption`. */
  #window: Window | null = null;
  #littleEndian = true;

  constructor(frame: Frame, sink: FrameSink, summary: SummaryCollector, limits: CaptureLimits) {
    this.#frame = frame;
    this.#sink = sink;
    this.#summary = summary;
    this.#limits = limits;
  }

  /** Gives each whole packet to the sink. True: a pcap file begins at the window's start. */
  parse(window: Window): boolean {
    const { view, end } = window;
    this.#frame.bytes = window.bytes;
    this.#window = window;
    for (;;) {
      if (this.#skippedLength > 0 && !this.#endSkipping(window)) return false;
      const at = window.start;
      if (end - at < BLOCK_HEADER_LENGTH) {
        window.needed = BLOCK_HEADER_LENGTH;
        return false;
      }
      const section = this.#section;
      const type = view.getUint32(at, this.#littleEndian);
      if (section === null || isMagic(type)) {
        if (type === BlockType.sectionHeader) {
          if (!this.#beginSection(window)) return false;
          continue;
        }
        if (window.has(PCAP_FILE_HEADER_TOLD)) {
          if (isPcapFileHeader(view, at)) return true;
        } else if (!window.final) {
          return false;
        }
        if (section === null) throw new Error("a pcapng parser is made for a section header only");
      }
      const totalLength = view.getUint32(at + 4, this.#littleEndian);
      const length = blockLength(totalLength);
      if (length < SHORTEST_BLOCK) {
        throw new Damaged(
          window.positionOf(at),
          `pcapng block of type ${type} with total length ${totalLength}: the shortest has ${SHORTEST_BLOCK}`,
        );
      }
      if (!this.#readBlock(window, section, type, length)) return false;
    }
  }

  /** What the stream's end has cut; null when it lies between two blocks. */
  cutShort(window: Window): Damaged | null {
    if (this.#skippedLength > 0) {
      return new Damaged(
        this.#skippedOffset,
        `pcapng block cut short: the capture ends before its ${this.#skippedLength} bytes do`,
      );
    }
    const left = window.end - window.start;
    if (left === 0) return null;
    return new Damaged(
      window.positionOf(window.start),
      `pcapng block cut short: the capture ends after ${left} of ${window.needed} bytes`,
    );
  }

  /** Consumes the block of `length` bytes at the window's start; false when more of it is needed. */
  #readBlock(window: Window, section: Section, type: number, length: number): boolean {
    switch (type) {
      case BlockType.enhancedPacket:
      case BlockType.packet:
        return this.#readPacket(window, section, type, length);
      case BlockType.simplePacket:
        return this.#readSimplePacket(window, section, length);
      case BlockType.interfaceDescription:
        return this.#readInterface(window, section, length);
      default:
        this.#skippedOffset = window.positionOf(window.start);
        this.#skippedLength = length;
        window.skip(length - BLOCK_TRAILER_LENGTH);
        return true;
    }
  }

  /** Checks the skipped block's trailer; false when it is not there yet. */
  #endSkipping(window: Window): boolean {
    if (!window.has(BLOCK_TRAILER_LENGTH)) return false;
    const trailer = window.view.getUint32(window.start, this.#littleEndian);
    checkTrailer(trailer, this.#skippedLength, this.#skippedOffset);
    window.start += BLOCK_TRAILER_LENGTH;
    this.#skippedLength = 0;
    return true;
  }

  #beginSection(window: Window): boolean {
    const section = readSectionHeader(window, this.#summary.sections + 1, this.#limits);
    if (section === null) return false;
    this.#section = section;
    this.#littleEndian = section.littleEndian;
    this.#summary.sections++;
    const order = section.littleEndian ? "little-endian" : "big-endian";
    this.#summary.addFormat(`pcapng ${section.version}, ${order}`);
    return true;
  }

  #readInterface(window: Window, section: Section, length: number): boolean {
    if (!readInterfaceDescription(window, length, section, this.#limits)) return false;
    const interfaceId = section.interfaces.length - 1;
    const description = section.interfaces[interfaceId];
    if (description !== undefined) {
      const { name, linkType, snapLength } = description;
      this.#summary.addInterface({ sectionNumber: section.number, interfaceId, name, linkType, snapLength });
    }
    return true;
  }

  /** Enhanced Packet Block (section 4.3), and the obsolete Packet Block (appendix A), whose interface id has 16 bits. */
  #readPacket(window: Window, section: Section, type: number, length: number): boolean {
    const { view, start } = window;
    const littleEndian = section.littleEndian;
    // Positions are computed where there is damage only: numbers of that size would be allocated for each packet.
    const shortest = PACKET_BLOCK_FIXED + BLOCK_TRAILER_LENGTH;
    if (length < shortest) checkRoom("pcapng packet block", length, shortest, window.positionOf(start));
    if (!window.has(PACKET_BLOCK_FIXED)) return false;
    const interfaceId =
      type === BlockType.packet
        ? view.getUint16(start + 8, littleEndian)
        : view.getUint32(start + 8, littleEndian);
    const capturedLength = view.getUint32(start + 20, littleEndian);
    const description = this.#describe(window, section, interfaceId);
    const optionsAt = this.#checkPacket(window, length, PACKET_BLOCK_FIXED, capturedLength, description);
    if (!window.has(length)) return false;
    const optionsEnd = start + length - BLOCK_TRAILER_LENGTH;
    const trailer = view.getUint32(optionsEnd, littleEndian);
    if (trailer !== length) checkTrailer(trailer, length, window.positionOf(start));
    const frame = this.#frame;
    this.#fill(section, interfaceId, description);
    if (optionsAt < optionsEnd) {
      readOptions(view, littleEndian, optionsAt, optionsEnd, window.positionOf(start), this.#packetOption);
    }
    frame.offset = start + PACKET_BLOCK_FIXED;
    frame.capturedLength = capturedLength;
    frame.originalLength = view.getUint32(start + 24, littleEndian);
    description.resolution.setTime(
      frame,
      view.getUint32(start + 12, littleEndian),
      view.getUint32(start + 16, littleEndian),
    );
    this.#give(window, length);
    return true;
  }

  /** Simple Packet Block (section 4.4): on the section's first interface, without a time. */
  #readSimplePacket(window: Window, section: Section, length: number): boolean {
    const { view, start } = window;
    const offset = window.positionOf(start);
    const fixed = SIMPLE_PACKET_BLOCK_FIXED;
    checkRoom("pcapng simple packet block", length, fixed + BLOCK_TRAILER_LENGTH, offset);
    if (!window.has(fixed)) return false;
    const description = this.#describe(window, section, 0);
    const originalLength = view.getUint32(start + 8, section.littleEndian);
    const room = length - fixed - BLOCK_TRAILER_LENGTH;
    const snapLength = description.snapLength === 0 ? room : Math.min(room, description.snapLength);
    const capturedLength = Math.min(originalLength, snapLength);
    this.#checkPacket(window, length, fixed, capturedLength, description);
    if (!window.has(length)) return false;
    const trailer = view.getUint32(start + length - BLOCK_TRAILER_LENGTH, section.littleEndian);
    checkTrailer(trailer, length, offset);
    const frame = this.#frame;
    this.#fill(section, 0, description);
    frame.offset = start + fixed;
    frame.capturedLength = capturedLength;
    frame.originalLength = originalLength;
    frame.hasTime = false;
    frame.seconds = 0;
    frame.nanoseconds = 0;
    this.#give(window, length);
    return true;
  }

  #describe(window: Window, section: Section, interfaceId: number): CaptureInterface {
    const description = section.interfaces[interfaceId];
    if (description === undefined) {
      throw new Damaged(
        window.positionOf(window.start),
        `pcapng packet on interface ${interfaceId}: section ${section.number} has described ${section.interfaces.length} so far`,
      );
    }
    return description;
  }

  /** Checks what a packet block claims before any of its data is waited for; returns where its options begin. */
  #checkPacket(
    window: Window,
    length: number,
    fixed: number,
    capturedLength: number,
    description: CaptureInterface,
  ): number {
    const { start } = window;
    if (capturedLength > description.maxCapturedLength) {
      throw new Damaged(
        window.positionOf(start),
        `pcapng packet claims ${capturedLength} captured bytes, more than the ${description.maxCapturedLength} of link type ${description.linkType}`,
      );
    }
    const paddedLength = (capturedLength + 3) & ~3;
    const optionBytes = length - fixed - paddedLength - BLOCK_TRAILER_LENGTH;
    if (optionBytes < 0) {
      throw new Damaged(
        window.positionOf(start),
        `pcapng packet claims ${capturedLength} captured bytes in a block of ${length}`,
      );
    }
    if (optionBytes > this.#limits.optionBytes) {
      checkOptionBytes(optionBytes, this.#limits, window.positionOf(start));
    }
    return start + fixed + paddedLength;
  }

  #fill(section: Section, interfaceId: number, description: CaptureInterface): void {
    const frame = this.#frame;
    frame.linkType = description.linkType;
    frame.bigEndian = !section.littleEndian;
    frame.fcsLength = description.fcsLength;
    frame.sectionNumber = section.number;
    frame.interfaceId = interfaceId;
    frame.interfaceName = description.name;
    frame.packetComment = null;
  }

  /** Several comments of a packet are one text, a line each. Flags override the interface's FCS length. */
  readonly #packetOption = (code: number, at: number, length: number): void => {
    const frame = this.#frame;
    if (code === OptionCode.comment) {
      const comment = readString(frame.bytes, at, length);
      frame.packetComment = frame.packetComment === null ? comment : `${frame.packetComment}\n${comment}`;
    } else if (code === OptionCode.packetFlags && length === 4 && this.#window !== null) {
      // Bits 5 to 8 (section 4.3.1); 0 says that the length is not known.
      const fcsLength = (this.#window.view.getUint32(at, this.#littleEndian) >>> 5) & 0xf;
      if (fcsLength !== 0) frame.fcsLength = fcsLength;
    }
  };

  #give(window: Window, length: number): void {
    const frame = this.#frame;
    frame.packetNumber++;
    window.start += length;
    this.#sink(frame);
  }
}
