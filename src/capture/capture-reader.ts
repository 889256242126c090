import {
  BYTE_ORDER_MAGIC,
  BYTE_ORDER_MAGIC_SWAPPED,
  notACapture,
  pcapVariant,
  SECTION_HEADER_BLOCK,
} from "./capture-format.ts";
import { Frame, type FrameSink } from "./frame.ts";
import { PCAP_HEADER_LENGTH, PcapParser } from "./pcap.ts";
import { PcapngParser } from "./pcapng.ts";
import { Damaged, Window } from "./window.ts";

/** How reading a capture ended. Offsets are bytes in the (decompressed) stream. */
export type CaptureEnd =
  | { readonly kind: "complete"; readonly packets: number }
  /** Every complete packet before `offset` was given to the sink; nothing after it can be told. */
  | { readonly kind: "damaged"; readonly packets: number; readonly offset: number; readonly reason: string }
  /** Not a capture, or damaged before its first packet. */
  | { readonly kind: "rejected"; readonly offset: number; readonly reason: string };

/**
 * Reads a capture as its bytes arrive: pcap in all its variants, pcapng, and any of them one after another. Synchronous;
 * each packet goes to the sink in the one reused {@link Frame}.
 *
 * Cost: one pass; bytes are copied only where a record spans chunks. Memory: the longest record. Never throws but for what
 * the sink throws.
 */
export class CaptureReader {
  /** Names of the formats met, in order: `pcap`, `pcapng` ... */
  readonly formats = new Set<string>();
  readonly #sink: FrameSink;
  readonly #frame = new Frame();
  readonly #window = new Window();
  #parser: PcapParser | PcapngParser | null = null;
  #sections = 0;
  #damage: Damaged | null = null;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Bytes copied to join chunks so far. */
  get copiedBytes(): number {
    return this.#window.copied;
  }

  /** Takes the next bytes, which are the caller's again on return. Returns false when reading on is useless. */
  push(chunk: Uint8Array): boolean {
    if (this.#damage !== null || chunk.length === 0) return this.#damage === null;
    const window = this.#window;
    window.push(chunk);
    if (window.end - window.start < window.needed) window.settle();
    else this.#parse();
    return this.#damage === null;
  }

  /** Called once after the last chunk. */
  finish(): CaptureEnd {
    this.#window.final = true;
    if (this.#damage === null) this.#parse();
    if (this.#damage === null) this.#damage = this.#cutOff();
    const packets = this.#frame.packetNumber;
    if (this.#damage === null) return { kind: "complete", packets };
    const { offset, message: reason } = this.#damage;
    return packets === 0
      ? { kind: "rejected", offset, reason }
      : { kind: "damaged", packets, offset, reason };
  }

  #parse(): void {
    const window = this.#window;
    window.needed = 1;
    try {
      for (;;) {
        this.#parser ??= this.#open();
        if (this.#parser === null) break;
        const another = this.#parser.parse(window, this.#frame, this.#sink);
        if (this.#parser instanceof PcapngParser) this.#sections = this.#parser.section;
        if (!another) break;
        this.#parser = null;
      }
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      this.#damage = error;
    }
    window.settle();
  }

  /** The parser for the file that begins at the window's start; null when more bytes are needed to tell. */
  #open(): PcapParser | PcapngParser | null {
    const window = this.#window;
    if (!window.has(4)) return null;
    const magic = window.view.getUint32(window.start);
    const variant = pcapVariant(magic);
    if (variant !== null) {
      if (!window.has(PCAP_HEADER_LENGTH)) return null;
      this.formats.add(variant.name);
      return new PcapParser(window);
    }
    if (!window.has(12) && !window.final) return null;
    if (magic === SECTION_HEADER_BLOCK && window.end - window.start >= 12) {
      const order = window.view.getUint32(window.start + 8);
      if (order === BYTE_ORDER_MAGIC || order === BYTE_ORDER_MAGIC_SWAPPED) {
        this.formats.add("pcapng");
        return new PcapngParser(this.#sections);
      }
    }
    throw new Damaged(window.position, notACapture(window.bytes.subarray(window.start, window.end)));
  }

  /** What is left over at the end, if anything is. */
  #cutOff(): Damaged | null {
    const window = this.#window;
    const left = window.end - window.start;
    const missing = window.skipping > 0 || (this.#parser instanceof PcapngParser && this.#parser.inBlock);
    if (left === 0 && !missing) return null;
    if (this.#parser === null && this.#frame.packetNumber === 0 && this.#sections === 0) {
      return new Damaged(window.position, `${left} bytes: too short for the file header of a capture`);
    }
    const wanted = window.skipping > 0 ? window.skipping : window.needed - left;
    return new Damaged(
      window.position,
      `the file ends inside a record or block: ${wanted} bytes more are missing`,
    );
  }
}
