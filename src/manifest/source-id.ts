/** Lower-case hex of the first 16 bytes of a SHA-256 (32 characters): the table's column `source_id`. */
export type SourceId = string;

/** Whether the text is a source id: in a column, another writer may have put anything. */
export function isSourceId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

/** SHA-256 of the bytes, 32 bytes. Synchronous: inputs are short. */
export type Sha256 = (bytes: Uint8Array) => Uint8Array;

const utf8 = new TextEncoder();

/**
 * Id of the very object version: SHA-256 over the JSON array `[bucket, key, eTag, size]`, cut to 16 bytes. The same
 * upload delivered twice has the same id; a replaced object has another. Where the eTag does not identify the content, its SHA-256
 * is given in the eTag's place.
 */
export function sourceId(
  source: { bucket: string; key: string; eTag: string; size: number },
  sha256: Sha256,
): SourceId {
  const digest = sha256(utf8.encode(JSON.stringify([source.bucket, source.key, source.eTag, source.size])));
  return hex(digest.subarray(0, 16));
}

/**
 * Id of a capture in a folder: made from its content alone, so that a file that was moved or copied is the same capture. `eTag` is
 * the content's SHA-256.
 */
export function localSourceId({ eTag, size }: { eTag: string; size: number }, sha256: Sha256): SourceId {
  return sourceId({ bucket: "", key: "", eTag, size }, sha256);
}

/**
 * Whether an eTag is that of an upload in parts: a hash of the parts' hashes, with their number behind it. It depends on where the
 * parts begin, so that the same bytes have another one in other parts.
 */
export function isOfParts(eTag: string): boolean {
  return /-\d+$/.test(eTag);
}

/** Two lower-case digits a byte. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
