const utf8 = new TextEncoder();

/** What is kept for the next column at most: huge strings must not hold their memory for the rest of the process. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** UTF-16 units joined for one call of the encoder. */
const JOINED_UNITS = 1 << 20;

/**
 * The UTF-8 bytes of many strings, one after another. They are joined and encoded by one call: 40 ns for an address of 12
 * characters against 110 by a call for each (Node 24, x86-64). Where a character takes more than a byte, and so the parts' lengths
 * are unknown, they are encoded one by one.
 */
export class Utf8Strings {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(1024);
  /** String i is `bytes[offsets[i]]` to `bytes[offsets[i + 1]]`. */
  offsets = new Int32Array(1);
  count = 0;

  /** The bytes of one string; valid until the next {@link encode}. */
  at(index: number): Uint8Array {
    return this.bytes.subarray(this.offsets[index], this.offsets[index + 1]);
  }

  encode(strings: readonly string[]): void {
    if (this.offsets.length <= strings.length) this.offsets = new Int32Array(strings.length * 2 + 1);
    if (this.bytes.length > MAX_KEPT_BYTES) this.bytes = new Uint8Array(1024);
    this.count = strings.length;
    let start = 0;
    while (start < strings.length) {
      let end = start;
      let units = 0;
      while (end < strings.length && (end === start || units + strings[end]!.length <= JOINED_UNITS)) {
        units += strings[end++]!.length;
      }
      this.#encodeJoined(strings, start, end, units);
      start = end;
    }
  }

  #encodeJoined(strings: readonly string[], start: number, end: number, units: number): void {
    let at = this.offsets[start]!;
    this.#reserve(at + units * 3);
    const joined =
      start === 0 && end === strings.length ? strings.join("") : strings.slice(start, end).join("");
    const { written } = utf8.encodeInto(joined, this.bytes.subarray(at));
    const isAscii = written === units;
    for (let i = start; i < end; i++) {
      const text = strings[i]!;
      at += isAscii ? text.length : utf8.encodeInto(text, this.bytes.subarray(at)).written;
      this.offsets[i + 1] = at;
    }
  }

  #reserve(size: number): void {
    if (size > 0x7fff_ffff) {
      throw new Error(
        `strings of up to ${size} bytes in one row group: at most ${0x7fff_ffff}; write fewer rows at once`,
      );
    }
    if (size <= this.bytes.length) return;
    const grown = new Uint8Array(Math.min(0x7fff_ffff, Math.max(size, this.bytes.length * 2)));
    grown.set(this.bytes);
    this.bytes = grown;
  }
}
