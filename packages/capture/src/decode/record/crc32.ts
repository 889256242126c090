/**
 * Returns the CRC-32 of zip and Ethernet (reflected polynomial EDB88320) over the bytes `from` to `to`, as an unsigned
 * number.
 */
export function crc32(bytes: Uint8Array, from = 0, to = bytes.length): number {
  let crc = 0xffff_ffff;
  for (let i = from; i < to; i++) crc = table[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

const table = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 0 ? crc >>> 1 : (crc >>> 1) ^ 0xedb8_8320;
  return crc;
});
