import { concatenated, DamagedStreamError } from "@deltacap/capture";
import { Decompress } from "fzstd";
import { frameHeaderLength } from "./zstd-frame.ts";

const FRAME_MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;
const CHECKSUM_FLAG = 4;
/** RFC 8878 section 3.1.1.2: a block, before and after compression. */
const LONGEST_BLOCK = 128 * 1024;
/** What zstd itself takes unless it is told otherwise (`--long=27`). */
const LARGEST_WINDOW = 128 * 1024 * 1024;

/**
 * zstd in JavaScript (fzstd), for Node without zstd in its zlib. The frames (RFC 8878 section 3.1) are taken apart here and
 * given to fzstd block by block: so what comes out of one call is bounded, a cut stream is noticed, and frames may follow
 * each other. Content checksums are not verified. Memory: twice the window that a frame asks for.
 */
export async function* fzstdDecompressed(
  compressed: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  const input = new Input(compressed);
  try {
    // Zeros between and behind frames are padding.
    while (await input.skipZeros()) {
      await input.require(4);
      const magic = input.uint32(0);
      if (magic === FRAME_MAGIC) yield* frame(input);
      else if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC) {
        await input.require(8);
        const length = input.uint32(4);
        input.take(8);
        await input.skip(length);
      } else {
        throw new DamagedStreamError(`zstd data is damaged: no frame begins with 0x${magic.toString(16)}`);
      }
    }
  } finally {
    await input.close();
  }
}

async function* frame(input: Input): AsyncGenerator<Uint8Array, void> {
  await input.require(5);
  const descriptor = input.byte(4);
  const headerLength = frameHeaderLength(descriptor);
  await input.require(headerLength);
  checkWindow(input, descriptor, headerLength);
  let out: Uint8Array[] = [];
  const decompress = new Decompress((chunk) => void out.push(chunk));
  let head = input.take(headerLength).slice();
  // fzstd gives out the last block only once it has the checksum, which it does not verify: it is told that there is none.
  head[4] = descriptor & ~CHECKSUM_FLAG;
  for (let last = false; !last; ) {
    await input.require(3);
    const header = input.byte(0) | (input.byte(1) << 8) | (input.byte(2) << 16);
    last = (header & 1) === 1;
    const type = (header >> 1) & 3;
    const size = header >>> 3;
    if (size > LONGEST_BLOCK) {
      throw new DamagedStreamError(
        `zstd data is damaged: a block of ${size} bytes, at most ${LONGEST_BLOCK} are allowed`,
      );
    }
    // A run-length block holds the one byte that it repeats.
    const length = 3 + (type === 1 ? 1 : size);
    await input.require(length);
    const block = concatenated([head, input.take(length)]);
    head = new Uint8Array(0);
    try {
      decompress.push(block, last);
    } catch (cause) {
      // Nothing of ours runs inside that call, so whatever it throws is about the data.
      throw new DamagedStreamError("zstd data is damaged", { cause });
    }
    for (const chunk of out) if (chunk.length > 0) yield chunk;
    out = [];
  }
  if ((descriptor & CHECKSUM_FLAG) !== 0) await input.skip(4);
}

function checkWindow(input: Input, descriptor: number, headerLength: number): void {
  const contentSizeLength = [1, 2, 4, 8][descriptor >> 6] ?? 0;
  let window = 0;
  if ((descriptor & 0x20) === 0) {
    const base = 2 ** (10 + (input.byte(5) >> 3));
    window = base + (base / 8) * (input.byte(5) & 7);
  } else {
    for (let i = 0; i < contentSizeLength; i++) {
      window += input.byte(headerLength - contentSizeLength + i) * 2 ** (8 * i);
    }
  }
  if (window > LARGEST_WINDOW) {
    throw new DamagedStreamError(
      `zstd frame with a window of ${window} bytes: at most ${LARGEST_WINDOW} are held; compress without --long or --ultra`,
    );
  }
}

/** Compressed bytes, asked for as they are needed; at most a block and a chunk are held. */
class Input {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async has(length: number): Promise<boolean> {
    if (this.#bytes.length - this.#at >= length) return true;
    const parts = [this.#bytes.subarray(this.#at)];
    let held = this.#bytes.length - this.#at;
    let ended = false;
    while (held < length && !ended) {
      const next = await this.#chunks.next();
      ended = next.done === true;
      if (next.done !== true) {
        // A copy, since the chunk's owner may use its bytes again; `slice` of a Buffer would be none.
        parts.push(new Uint8Array(next.value));
        held += next.value.length;
      }
    }
    this.#bytes = concatenated(parts);
    this.#at = 0;
    return held >= length;
  }

  async require(length: number): Promise<void> {
    if (!(await this.has(length))) throw new DamagedStreamError("zstd data is cut short");
  }

  byte(at: number): number {
    return this.#bytes[this.#at + at] ?? 0;
  }

  uint32(at: number): number {
    return (
      (this.byte(at) | (this.byte(at + 1) << 8) | (this.byte(at + 2) << 16) | (this.byte(at + 3) << 24)) >>> 0
    );
  }

  take(length: number): Uint8Array {
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  async skip(length: number): Promise<void> {
    for (let left = length; left > 0; ) {
      await this.require(1);
      const here = Math.min(left, this.#bytes.length - this.#at);
      this.#at += here;
      left -= here;
    }
  }

  /** False at the end. */
  async skipZeros(): Promise<boolean> {
    while (await this.has(1)) {
      while (this.#at < this.#bytes.length && this.byte(0) === 0) this.#at++;
      if (this.#at < this.#bytes.length) return true;
    }
    return false;
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}
