import { BYTE_ORDER_MAGIC, BYTE_ORDER_MAGIC_SWAPPED, SECTION_HEADER_BLOCK } from "./capture-format.ts";
import type { Frame, FrameSink } from "./frame.ts";
import {
  MAXIMUM_HELD_BLOCK,
  MAXIMUM_INTERFACE_NAMES,
  MAXIMUM_INTERFACES,
  MAXIMUM_PACKET_OPTIONS,
  maximumCapturedLength,
} from "./limits.ts";
import { isFileHeader } from "./pcap.ts";
import { type CaptureInterface, interfaceDescription } from "./pcapng-interface.ts";
import { EPB_FLAGS, forEachOption, OPTION_COMMENT, optionText } from "./pcapng-options.ts";
import { Damaged, type Window } from "./window.ts";

/** Block types (pcapng section 4 and appendix A). */
const INTERFACE_DESCRIPTION_BLOCK = 1;
const PACKET_BLOCK = 2;
const SIMPLE_PACKET_BLOCK = 3;
const ENHANCED_PACKET_BLOCK = 6;

/** Block type and total length before the body, total length after it. */
const BLOCK_OVERHEAD = 12;

/** Bytes at which {@link isFileHeader} can tell a pcap file header from a block. */
const PCAP_HEADER_NEEDED = 24;

/**
 * Reads pcapng blocks (draft-ietf-opsawg-pcapng), section after section. Blocks that give no packet are skipped as they
 * arrive, however long they are.
 */
export class PcapngParser {
  /** 1, 2 ... through the source. */
  section: number;
  #littleEndian = true;
  #interfaces: CaptureInterface[] = [];
  #interfaceNameLength = 0;
  /** Total length that must stand at the end of a block whose body was skipped; 0 when there is none. */
  #trailer = 0;
  #trailerPosition = 0;

  /** `section`: sections that were read before in the same source. */
  constructor(section: number) {
    this.section = section;
  }

  /** True between the first byte of a block that is being skipped and its last. */
  get inBlock(): boolean {
    return this.#trailer !== 0;
  }

  /**
   * Gives the packets of every complete block in the window to the sink. Returns true at the first byte of a pcap file
   * header, which is not consumed; false when more bytes are needed.
   */
  parse(window: Window, frame: Frame, sink: FrameSink): boolean {
    for (;;) {
      if (this.#trailer !== 0 && !this.#checkTrailer(window)) return false;
      // Type, total length, and the first word of the body, which in a section header tells the byte order.
      if (!window.has(BLOCK_OVERHEAD)) return false;
      const at = window.start;
      if (window.view.getUint32(at) === SECTION_HEADER_BLOCK) {
        if (!this.#sectionHeader(window)) return false;
        continue;
      }
      const type = window.view.getUint32(at, this.#littleEndian);
      // Types from 2^31 on are for local use: a pcap magic number among them may begin another file.
      if (type >= 0x8000_0000 || type === 0x4d3c_b2a1 || type === 0x34cd_b2a1) {
        if (window.end - at >= PCAP_HEADER_NEEDED || window.final) {
          if (isFileHeader(window) === "yes") return true;
        } else if (isFileHeader(window) === "unknown") return false;
      }
      if (!this.#block(type, window, frame, sink)) return false;
    }
  }

  #checkTrailer(window: Window): boolean {
    if (window.skipping > 0 || !window.has(4)) return false;
    this.#requireTrailer(
      window.view.getUint32(window.start, this.#littleEndian),
      this.#trailer,
      this.#trailerPosition,
    );
    window.start += 4;
    this.#trailer = 0;
    return true;
  }

  #requireTrailer(found: number, expected: number, position: number): void {
    if (found !== expected) {
      throw new Damaged(position, `block of total length ${expected} ends with the total length ${found}`);
    }
  }

  /** Total length of the block at the window's start, checked; and rounded up, as its extent in the file is. */
  #blockLength(window: Window): number {
    const length = window.view.getUint32(window.start + 4, this.#littleEndian);
    if (length < BLOCK_OVERHEAD) {
      throw new Damaged(window.position, `block of total length ${length}: a block has at least 12 bytes`);
    }
    return length;
  }

  /** Returns false when the block is not yet whole. */
  #sectionHeader(window: Window): boolean {
    const { view, start } = window;
    const order = view.getUint32(start + 8);
    if (order !== BYTE_ORDER_MAGIC && order !== BYTE_ORDER_MAGIC_SWAPPED) {
      throw new Damaged(
        window.position,
        `section header with the byte-order magic 0x${order.toString(16)}: 0x1a2b3c4d is expected`,
      );
    }
    this.#littleEndian = order === BYTE_ORDER_MAGIC_SWAPPED;
    const length = this.#blockLength(window);
    const extent = heldExtent(window, length, 28);
    if (!window.has(extent)) return false;
    const major = view.getUint16(start + 12, this.#littleEndian);
    if (major !== 1) throw new Damaged(window.position, `pcapng major version ${major}: only 1 is known`);
    const end = start + extent - 4;
    this.#requireTrailer(view.getUint32(end, this.#littleEndian), length, window.position);
    forEachOption(view, this.#littleEndian, start + 24, end, window.position, () => {});
    window.start += extent;
    this.section++;
    this.#interfaces = [];
    this.#interfaceNameLength = 0;
    return true;
  }

  /** Returns false when the block is not yet whole. */
  #block(type: number, window: Window, frame: Frame, sink: FrameSink): boolean {
    const length = this.#blockLength(window);
    switch (type) {
      case ENHANCED_PACKET_BLOCK:
        return this.#packetBlock(window, length, ENHANCED_PACKET_BLOCK, frame, sink);
      case PACKET_BLOCK:
        return this.#packetBlock(window, length, PACKET_BLOCK, frame, sink);
      case SIMPLE_PACKET_BLOCK:
        return this.#simplePacketBlock(window, length, frame, sink);
      case INTERFACE_DESCRIPTION_BLOCK:
        return this.#interfaceDescriptionBlock(window, length);
      default:
        this.#trailer = length;
        this.#trailerPosition = window.position;
        window.skip(((length + 3) & ~3) - 4);
        return true;
    }
  }

  #interfaceDescriptionBlock(window: Window, length: number): boolean {
    const extent = heldExtent(window, length, 20);
    if (!window.has(extent)) return false;
    const end = window.start + extent - 4;
    this.#requireTrailer(window.view.getUint32(end, this.#littleEndian), length, window.position);
    const described = interfaceDescription(window, this.#littleEndian, end);
    this.#interfaceNameLength += described.name?.length ?? 0;
    if (
      this.#interfaces.length === MAXIMUM_INTERFACES ||
      this.#interfaceNameLength > MAXIMUM_INTERFACE_NAMES
    ) {
      throw new Damaged(
        window.position,
        `interface ${this.#interfaces.length} of a section: at most ${MAXIMUM_INTERFACES} are kept, with ${MAXIMUM_INTERFACE_NAMES} bytes of names`,
      );
    }
    this.#interfaces.push(described);
    window.start += extent;
    return true;
  }

  #interface(id: number, position: number): CaptureInterface {
    const found = this.#interfaces[id];
    if (found === undefined) {
      throw new Damaged(position, `packet of interface ${id} in a section with ${this.#interfaces.length}`);
    }
    return found;
  }

  /** Enhanced Packet Block (4.3) and the obsolete Packet Block (appendix A), which differ in their first words only. */
  #packetBlock(window: Window, length: number, type: number, frame: Frame, sink: FrameSink): boolean {
    if (length < 32) {
      throw new Damaged(window.position, `packet block of ${length} bytes: it has at least 32`);
    }
    if (!window.has(28)) return false;
    const { view, start } = window;
    const littleEndian = this.#littleEndian;
    const interfaceId =
      type === ENHANCED_PACKET_BLOCK
        ? view.getUint32(start + 8, littleEndian)
        : view.getUint16(start + 8, littleEndian);
    const on = this.#interface(interfaceId, window.position);
    const capturedLength = view.getUint32(start + 20, littleEndian);
    requireRoom(window, on, capturedLength, length - 32);
    const extent = (length + 3) & ~3;
    if (!window.has(extent)) return false;
    const end = start + extent - 4;
    this.#requireTrailer(view.getUint32(end, littleEndian), length, window.position);

    this.#describe(frame, window, on, interfaceId);
    frame.offset = start + 28;
    frame.capturedLength = capturedLength;
    frame.originalLength = view.getUint32(start + 24, littleEndian);
    on.resolution.setTime(
      frame,
      view.getUint32(start + 12, littleEndian),
      view.getUint32(start + 16, littleEndian),
    );
    const options = start + 28 + ((capturedLength + 3) & ~3);
    if (end - options >= 4) packetOptions(frame, window, littleEndian, options, end);
    this.#emit(window, extent, frame, sink);
    return true;
  }

  /** Simple Packet Block (4.4): interface 0, no time, and no captured length of its own. */
  #simplePacketBlock(window: Window, length: number, frame: Frame, sink: FrameSink): boolean {
    if (length < 16) {
      throw new Damaged(window.position, `simple packet block of ${length} bytes: it has at least 16`);
    }
    const { view, start } = window;
    const on = this.#interface(0, window.position);
    const originalLength = view.getUint32(start + 8, this.#littleEndian);
    const snapLength = on.snapLength === 0 ? originalLength : on.snapLength;
    const capturedLength = Math.min(originalLength, snapLength, length - 16);
    requireRoom(window, on, capturedLength, length - 16);
    const extent = (length + 3) & ~3;
    if (!window.has(extent)) return false;
    this.#requireTrailer(view.getUint32(start + extent - 4, this.#littleEndian), length, window.position);
    this.#describe(frame, window, on, 0);
    frame.offset = start + 12;
    frame.capturedLength = capturedLength;
    frame.originalLength = originalLength;
    frame.hasTime = false;
    this.#emit(window, extent, frame, sink);
    return true;
  }

  #describe(frame: Frame, window: Window, on: CaptureInterface, interfaceId: number): void {
    frame.bytes = window.bytes;
    frame.linkType = on.linkType;
    frame.fcsLength = on.fcsLength;
    frame.sectionNumber = this.section;
    frame.interfaceId = interfaceId;
    frame.interfaceName = on.name;
    frame.packetComment = null;
  }

  #emit(window: Window, extent: number, frame: Frame, sink: FrameSink): void {
    window.start += extent;
    frame.packetNumber++;
    sink(frame);
  }
}

/** Extent of a block that must be held whole, checked against its least and greatest length. */
function heldExtent(window: Window, length: number, least: number): number {
  if (length < least || length > MAXIMUM_HELD_BLOCK) {
    throw new Damaged(
      window.position,
      `block of total length ${length}: ${least} to ${MAXIMUM_HELD_BLOCK} are allowed for its type`,
    );
  }
  return (length + 3) & ~3;
}

/** Checks a packet's length against its block and its link type, and the block against what may follow the packet. */
function requireRoom(window: Window, on: CaptureInterface, capturedLength: number, room: number): void {
  const most = maximumCapturedLength(on.linkType);
  if (capturedLength > room || capturedLength > most || room - capturedLength > MAXIMUM_PACKET_OPTIONS) {
    throw new Damaged(
      window.position,
      `packet of ${capturedLength} captured bytes in a block with room for ${room}: link type ${on.linkType} allows ${most}, and options ${MAXIMUM_PACKET_OPTIONS}`,
    );
  }
}

function packetOptions(
  frame: Frame,
  window: Window,
  littleEndian: boolean,
  start: number,
  end: number,
): void {
  forEachOption(window.view, littleEndian, start, end, window.position, (code, offset, length) => {
    if (code === OPTION_COMMENT) {
      const comment = optionText(window.bytes, offset, length);
      frame.packetComment = frame.packetComment === null ? comment : `${frame.packetComment}\n${comment}`;
    } else if (code === EPB_FLAGS && length === 4) {
      // Bits 5 to 8: FCS length in bytes, 0 where it is not known (4.3.1).
      const fcsLength = (window.view.getUint32(offset, littleEndian) >>> 5) & 0xf;
      if (fcsLength !== 0) frame.fcsLength = fcsLength;
    }
  });
}
