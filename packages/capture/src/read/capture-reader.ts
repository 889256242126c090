import {
  FORMAT_NAME_LENGTH,
  notACapture,
  PCAP_FILE_HEADER_LENGTH,
  pcapVariant,
  SECTION_HEADER_BLOCK,
} from "./capture-format.ts";
import { type CaptureLimits, captureLimits } from "./capture-limits.ts";
import { type CaptureSummary, SummaryCollector } from "./capture-summary.ts";
import { Frame, type FrameSink } from "./frame.ts";
import { PcapParser } from "./pcap.ts";
import { PcapngParser } from "./pcapng.ts";
import { Damaged, Window } from "./window.ts";

/** How reading an input ended. Offsets are bytes in the (decompressed) stream, of the record that could not be read. */
export type CaptureEnd =
  /** All was read. An input without a byte, or with headers only, is a capture of 0 packets. */
  | { readonly kind: "complete"; readonly packets: number }
  /** The first `packets` packets, at least one, were given to the sink; then came something that is none. */
  | { readonly kind: "damaged"; readonly packets: number; readonly offset: number; readonly reason: string }
  /** Not a capture, or damaged before its first whole packet. */
  | { readonly kind: "rejected"; readonly offset: number; readonly reason: string };

/**
 * Reads pcap and pcapng captures, also several back to back, from chunks of any size, and gives each packet to the sink as
 * soon as it is whole. The sink's frame is one and the same object, see {@link Frame}.
 *
 * Work is linear in the input for any chunks; memory is bounded by the largest packet and by `limits`. What is wrong with
 * the input comes back from `finish`; what the sink throws goes through `push`, after which the reader is of no more use.
 */
export class CaptureReader {
  readonly #sink: FrameSink;
  readonly #limits: CaptureLimits;
  readonly #frame = new Frame();
  readonly #window = new Window();
  readonly #summary = new SummaryCollector();
  #parser: PcapParser | PcapngParser | null = null;
  #damage: Damaged | null = null;

  constructor(sink: FrameSink, limits: Partial<CaptureLimits> = {}) {
    this.#sink = sink;
    this.#limits = { ...captureLimits, ...limits };
  }

  /** Reads on; the chunk is the caller's again on return. False: what follows is of no use, call `finish`. */
  push(chunk: Uint8Array): boolean {
    if (this.#damage === null) this.#window.push(chunk, this.#parse);
    return this.#damage === null;
  }

  /** Ends the input. `broken`: why no more bytes came, where the input did not end by itself. */
  finish(broken?: string): CaptureEnd {
    if (this.#damage === null) {
      this.#window.finish(this.#parse);
      const position = this.#window.positionOf(this.#window.start);
      if (broken !== undefined) this.#damage ??= new Damaged(position, broken);
      this.#damage ??= this.#parser?.cutShort(this.#window) ?? null;
    }
    const packets = this.#frame.packetNumber;
    if (this.#damage === null) return { kind: "complete", packets };
    const { offset, message: reason } = this.#damage;
    return packets === 0
      ? { kind: "rejected", offset, reason }
      : { kind: "damaged", packets, offset, reason };
  }

  /** What has been seen so far. */
  get summary(): CaptureSummary {
    return this.#summary;
  }

  /** Formats seen so far, in order: "pcap 2.4, little-endian, microseconds". */
  get formats(): readonly string[] {
    return this.#summary.formats;
  }

  /** Bytes copied so far to join chunks, and how often parsing was tried: tests hold both against the input's length. */
  get copiedBytes(): number {
    return this.#window.copied;
  }

  get parses(): number {
    return this.#window.parsed;
  }

  readonly #parse = (): boolean => {
    try {
      this.#parseWindow();
      return true;
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      this.#damage = error;
      return false;
    }
  };

  #parseWindow(): void {
    for (;;) {
      this.#parser ??= this.#beginCapture();
      if (this.#parser === null || !this.#parser.parse(this.#window)) return;
      this.#parser = null;
    }
  }

  /** The parser for what begins at the window's start; null when more of it is needed to tell. */
  #beginCapture(): PcapParser | PcapngParser | null {
    const window = this.#window;
    const left = window.end - window.start;
    const offset = window.positionOf(window.start);
    if (!window.has(4)) {
      if (!window.final || left === 0) return null;
      throw new Damaged(offset, `not a capture: ${left} bytes are too few for one`);
    }
    const magic = window.view.getUint32(window.start);
    if (magic === SECTION_HEADER_BLOCK) {
      return new PcapngParser(this.#frame, this.#sink, this.#summary, this.#limits);
    }
    if (pcapVariant(magic) === null) {
      if (!window.has(FORMAT_NAME_LENGTH) && !window.final) return null;
      throw new Damaged(
        offset,
        notACapture(window.bytes.subarray(window.start, window.end).subarray(0, FORMAT_NAME_LENGTH)),
      );
    }
    if (window.has(PCAP_FILE_HEADER_LENGTH)) {
      return new PcapParser(window, this.#frame, this.#sink, this.#summary);
    }
    if (!window.final) return null;
    throw new Damaged(
      offset,
      `pcap file header cut short: the capture ends after ${left} of ${PCAP_FILE_HEADER_LENGTH} bytes`,
    );
  }
}
