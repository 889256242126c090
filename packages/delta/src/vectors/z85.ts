/** Of ZeroMQ RFC 32, which Delta calls Base85: five characters for four bytes, the first byte the most significant. */
const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

const NO_DIGIT = 255;
const digits = new Uint8Array(128).fill(NO_DIGIT);
for (let digit = 0; digit < ALPHABET.length; digit++) digits[ALPHABET.charCodeAt(digit)] = digit;

/** The bytes, a multiple of four; null for what is no Z85. */
export function decodeZ85(text: string): Uint8Array | null {
  if (text.length % 5 !== 0) return null;
  const bytes = new Uint8Array((text.length / 5) * 4);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < text.length; at += 5) {
    let word = 0;
    for (let i = at; i < at + 5; i++) {
      const digit = digits[text.charCodeAt(i)] ?? NO_DIGIT;
      if (digit === NO_DIGIT) return null;
      word = word * 85 + digit;
    }
    // Five digits can say more than four bytes hold.
    if (word > 0xffff_ffff) return null;
    view.setUint32((at / 5) * 4, word);
  }
  return bytes;
}
