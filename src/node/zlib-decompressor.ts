import type { Gunzip } from "node:zlib";
import { DamagedStreamError } from "@deltacap/capture";

/** Compressed bytes given to zlib in one call. */
const PIECE = 64 * 1024;

/**
 * Compressed bytes that are kept so that damage can be approached again in small steps. In longer streams, up to one output
 * chunk before the damage is lost: zlib does not hand out what a failing call had decompressed.
 */
const KEPT = 8 * 1024 * 1024;

type CreateTransform = () => Gunzip;

/**
 * Decompresses with a transform of node:zlib; members or frames that follow each other are one stream, and zeros between
 * and behind them are padding. Memory: the transform's own, a few chunks, and {@link KEPT}.
 */
export async function* zlibDecompressed(
  name: string,
  create: CreateTransform,
  compressed: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  const kept: Uint8Array[] = [];
  let keptBytes = 0;
  let delivered = 0;
  const pieces = async function* () {
    for await (const chunk of compressed) {
      for (let at = 0; at < chunk.length; at += PIECE) {
        // A copy, since the chunk's owner may use its bytes again; `slice` of a Buffer would be none.
        const piece = new Uint8Array(chunk.subarray(at, at + PIECE));
        keptBytes += piece.length;
        if (keptBytes <= KEPT) kept.push(piece);
        else kept.length = 0;
        yield piece;
      }
    }
  };
  try {
    for await (const chunk of decompressedPieces(name, create, pieces())) {
      delivered += chunk.length;
      yield chunk;
    }
  } catch (error) {
    if (error instanceof DamagedStreamError && !isTruncation(error)) {
      yield* upToDamage(name, create, kept, delivered);
    }
    throw error;
  }
}

/** What lies between the first `delivered` decompressed bytes and the damage in the last of `pieces`. */
async function* upToDamage(
  name: string,
  create: CreateTransform,
  pieces: readonly Uint8Array[],
  delivered: number,
): AsyncGenerator<Uint8Array, void> {
  let known = delivered;
  let steps = [...pieces];
  for (const size of [256, 1]) {
    const last = steps.pop();
    if (last === undefined) return;
    for (let at = 0; at < last.length; at += size) steps.push(last.subarray(at, at + size));
    let taken = 0;
    const counted = async function* () {
      for (const step of steps) {
        taken++;
        yield step;
      }
    };
    let position = 0;
    try {
      for await (const chunk of decompressedPieces(name, create, counted())) {
        const fresh = chunk.subarray(Math.max(0, known - position));
        position += chunk.length;
        known = Math.max(known, position);
        if (fresh.length > 0) yield fresh;
      }
    } catch (error) {
      if (!(error instanceof DamagedStreamError)) throw error;
    }
    steps = steps.slice(0, taken);
  }
}

async function* decompressedPieces(
  name: string,
  create: CreateTransform,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  let member: Member | null = null;
  try {
    for await (const piece of pieces) {
      let rest = piece;
      while (rest.length > 0) {
        if (member === null) {
          const next = rest.findIndex((byte) => byte !== 0);
          if (next < 0) break;
          rest = rest.subarray(next);
          member = new Member(name, create());
        }
        const consumed: number = yield* member.write(rest);
        rest = rest.subarray(consumed);
        if (member.ended) {
          member.close();
          member = null;
        }
      }
    }
    if (member !== null) yield* member.end();
  } finally {
    member?.close();
  }
}

/** A transform with its events made into awaited calls, so that all it has given is taken before more is written. */
class Member {
  readonly #name: string;
  readonly #transform: Gunzip;
  #error: Error | null = null;
  #wake: () => void = () => {};
  /** The compressed data has ended by itself. */
  ended = false;

  constructor(name: string, transform: Gunzip) {
    this.#name = name;
    this.#transform = transform;
    transform.on("error", (error) => {
      this.#error = error;
      this.#wake();
    });
    transform.on("end", () => {
      this.ended = true;
      this.#wake();
    });
    transform.on("readable", () => this.#wake());
  }

  /** Yields what comes out; returns how many bytes were consumed, all of them unless the data has ended. */
  async *write(bytes: Uint8Array): AsyncGenerator<Uint8Array, number> {
    const before = this.#transform.bytesWritten;
    let written = false;
    this.#transform.write(bytes, () => {
      written = true;
      this.#wake();
    });
    yield* this.#outputUntil(() => written);
    const consumed = this.#transform.bytesWritten - before;
    // The transform may say that it is done with what it was given before it says that the data has ended.
    if (consumed < bytes.length) this.ended = true;
    return consumed;
  }

  /** Yields what is left; throws where the data has not ended. */
  async *end(): AsyncGenerator<Uint8Array, void> {
    this.#transform.end();
    yield* this.#outputUntil(() => false);
  }

  close(): void {
    this.#transform.destroy();
  }

  async *#outputUntil(isDone: () => boolean): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const chunk: Uint8Array | null = this.#transform.read();
      if (chunk !== null) {
        yield chunk;
        continue;
      }
      if (this.#error !== null) throw damagedStream(this.#name, this.#error);
      if (this.ended || isDone()) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

function damagedStream(name: string, cause: Error): DamagedStreamError {
  const error = new DamagedStreamError("", { cause });
  // zstd's own words depend on how the data was cut into pieces: "Destination buffer is too small" for the same damage.
  const reason = name === "zstd" ? "" : `: ${cause.message}`;
  error.message = isTruncation(error) ? `${name} data is cut short` : `${name} data is damaged${reason}`;
  return error;
}

/** The data ended too early: then nothing that had come out is missing. */
function isTruncation(error: DamagedStreamError): boolean {
  const { cause } = error;
  return cause instanceof Error && "code" in cause && cause.code === "Z_BUF_ERROR";
}
