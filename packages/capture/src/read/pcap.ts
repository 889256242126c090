import {
  isMagic,
  isPcapFileHeader,
  isSectionHeader,
  PCAP_FILE_HEADER_LENGTH,
  type PcapVariant,
  pcapVariant,
  RESERVED_LINK_TYPE_BITS,
} from "./capture-format.ts";
import { maxCapturedLength } from "./capture-limits.ts";
import type { SummaryCollector } from "./capture-summary.ts";
import type { Frame, FrameSink } from "./frame.ts";
import { setTime } from "./timestamp.ts";
import { Damaged, type Window } from "./window.ts";

/** Bit 26 of the link type field: the four bits from 28 on give the length of the FCS in units of two bytes. */
const FCS_LENGTH_PRESENT = 0x04000000;

/**
 * Reads one pcap file (draft-ietf-opsawg-pcap): its header, which must be whole in `window`, when made; its records with
 * each `parse`.
 */
export class PcapParser {
  readonly #frame: Frame;
  readonly #sink: FrameSink;
  readonly #variant: PcapVariant;
  readonly #nanosecondsPerUnit: number;
  readonly #maxCapturedLength: number;
  /** Before version 2.3 the two lengths stood in the other order; files of 2.3 have them in either. */
  readonly #swapsLengths: "always" | "where captured > original" | "never";

  constructor(window: Window, frame: Frame, sink: FrameSink, summary: SummaryCollector) {
    const { view, start } = window;
    const variant = pcapVariant(view.getUint32(start));
    if (variant === null) throw new Error("a pcap parser is made for a pcap magic number only");
    const { littleEndian } = variant;
    const major = view.getUint16(start + 4, littleEndian);
    const minor = view.getUint16(start + 6, littleEndian);
    const field = view.getUint32(start + 20, littleEndian);
    const offset = window.positionOf(start);
    if (major !== 2) throw new Damaged(offset, `pcap version ${major}.${minor}: only 2.x is known`);
    if ((field & RESERVED_LINK_TYPE_BITS) !== 0) {
      throw new Damaged(
        offset,
        `pcap link type field 0x${field.toString(16)}: bits 16 to 25 are reserved and must be 0`,
      );
    }
    window.start += PCAP_FILE_HEADER_LENGTH;
    this.#frame = frame;
    this.#sink = sink;
    this.#variant = variant;
    this.#nanosecondsPerUnit = variant.resolution === "nanoseconds" ? 1 : 1000;
    this.#swapsLengths = minor < 3 ? "always" : minor === 3 ? "where captured > original" : "never";
    const linkType = field & 0xffff;
    this.#maxCapturedLength = maxCapturedLength(linkType);
    frame.linkType = linkType;
    frame.bigEndian = !littleEndian;
    frame.fcsLength = (field & FCS_LENGTH_PRESENT) === 0 ? -1 : (field >>> 28) * 2;
    frame.sectionNumber = -1;
    frame.interfaceId = -1;
    frame.interfaceName = null;
    frame.packetComment = null;
    describe(summary, variant, `${major}.${minor}`, linkType, view.getUint32(start + 16, littleEndian));
  }

  /**
   * Gives each whole record to the sink. True: another capture begins at the window's start. A record header of zeros is damage: an
   * empty packet at the beginning of 1970 is far less likely than a file whose end was allocated and not written.
   */
  parse(window: Window): boolean {
    const { view, end } = window;
    const { littleEndian, recordHeaderLength } = this.#variant;
    const frame = this.#frame;
    const sink = this.#sink;
    const nanosecondsPerUnit = this.#nanosecondsPerUnit;
    const swapsLengths = this.#swapsLengths;
    frame.bytes = window.bytes;
    for (;;) {
      const at = window.start;
      if (end - at < recordHeaderLength) {
        window.needed = recordHeaderLength;
        return false;
      }
      const seconds = view.getUint32(at, littleEndian);
      if (isMagic(seconds) && (isSectionHeader(view, at) || isPcapFileHeader(view, at))) return true;
      let capturedLength = view.getUint32(at + 8, littleEndian);
      let originalLength = view.getUint32(at + 12, littleEndian);
      if ((seconds | capturedLength | originalLength) === 0 && isZero(view, at, recordHeaderLength)) {
        throw new Damaged(
          window.positionOf(at),
          `pcap record header of ${recordHeaderLength} zero bytes: from here on the file was never written, as after a power loss`,
        );
      }
      if (swapsLengths !== "never" && (swapsLengths === "always" || capturedLength > originalLength)) {
        [capturedLength, originalLength] = [originalLength, capturedLength];
      }
      if (capturedLength > this.#maxCapturedLength) {
        throw new Damaged(
          window.positionOf(at),
          `pcap record claims ${capturedLength} captured bytes, more than the ${this.#maxCapturedLength} of link type ${frame.linkType}`,
        );
      }
      const recordLength = recordHeaderLength + capturedLength;
      if (end - at < recordLength) {
        window.needed = recordLength;
        return false;
      }
      frame.offset = at + recordHeaderLength;
      frame.capturedLength = capturedLength;
      frame.originalLength = originalLength;
      setTime(frame, seconds, view.getUint32(at + 4, littleEndian) * nanosecondsPerUnit);
      frame.packetNumber++;
      window.start = at + recordLength;
      sink(frame);
    }
  }

  /** What the stream's end has cut; null when it lies between two records. */
  cutShort(window: Window): Damaged | null {
    const left = window.end - window.start;
    if (left === 0) return null;
    const what = left < this.#variant.recordHeaderLength ? "pcap record header" : "packet";
    return new Damaged(
      window.positionOf(window.start),
      `${what} cut short: the capture ends after ${left} of ${window.needed} bytes`,
    );
  }
}

function isZero(view: DataView, start: number, length: number): boolean {
  for (let at = start; at < start + length; at += 4) if (view.getUint32(at) !== 0) return false;
  return true;
}

function describe(
  summary: SummaryCollector,
  variant: PcapVariant,
  version: string,
  linkType: number,
  snapLength: number,
): void {
  summary.pcapFiles++;
  const order = variant.littleEndian ? "little-endian" : "big-endian";
  const header = variant.recordHeaderLength === 24 ? ", 24-byte record headers" : "";
  summary.addFormat(`pcap ${version}, ${order}, ${variant.resolution}${header}`);
  summary.addInterface({ sectionNumber: null, interfaceId: null, name: null, linkType, snapLength });
}
