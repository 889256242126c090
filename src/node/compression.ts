import { Readable } from "node:stream";
import * as zlib from "node:zlib";
import { Decompress } from "fzstd";
import { DamagedStreamError, type Decompressors } from "../capture/decompressor.ts";

/** Output chunks of this size keep the share of calls between JavaScript and zlib small. */
const CHUNK = 256 * 1024;

/** What Node offers, and a pure JavaScript zstd where its zlib has none (before 22.15). */
export const nodeDecompressors: Decompressors = {
  gzip: (compressed) => through(compressed, zlib.createGunzip({ chunkSize: CHUNK }), "gzip"),
  zstd: (compressed) =>
    createZstdDecompress === undefined
      ? fzstdDecompressed(compressed)
      : through(compressed, createZstdDecompress({ chunkSize: CHUNK }), "zstd"),
};

type TransformFactory = (options: { chunkSize: number }) => zlib.Gunzip;

const createZstdDecompress = (zlib as { createZstdDecompress?: TransformFactory }).createZstdDecompress;

/** Pipes through a zlib transform. Everything that came out before damage is yielded before the error is thrown. */
async function* through(
  compressed: AsyncIterable<Uint8Array>,
  transform: zlib.Gunzip,
  name: string,
): AsyncIterable<Uint8Array> {
  const source = Readable.from(compressed, { objectMode: true });
  let sourceError: Error | null = null;
  let damage: Error | null = null;
  source.on("error", (error) => {
    sourceError = error;
    transform.destroy(error);
  });
  transform.on("error", (error) => {
    damage = error;
  });
  source.pipe(transform);
  try {
    // `read` rather than iteration: an error must not throw away what is still in the transform's buffer.
    for (;;) {
      const chunk: Uint8Array | null = transform.read();
      if (chunk !== null) {
        yield chunk;
        continue;
      }
      if (sourceError !== null) throw sourceError;
      if (damage !== null) throw new DamagedStreamError(`${name} data is damaged: ${describe(damage)}`);
      if (transform.readableEnded) return;
      await readable(transform);
    }
  } finally {
    source.destroy();
    transform.destroy();
  }
}

function readable(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of EVENTS) stream.off(event, done);
      resolve();
    };
    for (const event of EVENTS) stream.on(event, done);
  });
}

const EVENTS = ["readable", "end", "error", "close"] as const;

function describe(error: Error): string {
  return error.message === "unexpected end of file" ? "it ends in the middle" : error.message;
}

async function* fzstdDecompressed(compressed: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let out: Uint8Array[] = [];
  const stream = new Decompress((chunk) => void out.push(chunk));
  let damage: unknown = null;
  const push = (chunk: Uint8Array, final: boolean) => {
    try {
      stream.push(chunk, final);
    } catch (error) {
      damage = error;
    }
  };
  for await (const chunk of compressed) {
    push(chunk, false);
    yield* out;
    out = [];
    if (damage !== null) break;
  }
  if (damage === null) push(new Uint8Array(0), true);
  yield* out;
  if (damage !== null) {
    throw new DamagedStreamError(
      `zstd data is damaged: ${damage instanceof Error ? damage.message : damage}`,
    );
  }
}
