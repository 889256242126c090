/** Smaller buffers are left to the collector. */
const LARGE = 64 * 1024;

/**
 * Frees a large buffer at once where the runtime can (Node since 21): the collector sees a small object, not what it holds, and
 * lets such garbage pile up. All views on the buffer are empty afterwards.
 */
export function giveBack(array: { readonly buffer: ArrayBuffer }): void {
  const buffer: ArrayBuffer & { transfer?: (length: number) => unknown } = array.buffer;
  if (buffer.byteLength >= LARGE) buffer.transfer?.(0);
}
