/** Dotted decimal; `address` is 0 to 2^32-1. */
export function ipv4Text(address: number): string {
  return `${address >>> 24}.${(address >>> 16) & 0xff}.${(address >>> 8) & 0xff}.${address & 0xff}`;
}

/** `aa:bb:cc:dd:ee:ff`, of the 6 bytes at `offset`. */
export function macText(bytes: Uint8Array, offset: number): string {
  let text = hexByte(bytes[offset]!);
  for (let i = 1; i < 6; i++) text += `:${hexByte(bytes[offset + i]!)}`;
  return text;
}

function hexByte(byte: number): string {
  return byte < 16 ? `0${byte.toString(16)}` : byte.toString(16);
}

/**
 * Canonical text of the 16 bytes at `offset` (RFC 5952 section 4): lower case, no leading zeros, the first of the longest runs
 * of at least two zero groups as `::`. An IPv4-mapped address (::ffff:0:0/96) ends in dotted decimal (section 5).
 */
export function ipv6Text(bytes: Uint8Array, offset: number): string {
  const groups: number[] = [];
  for (let i = 0; i < 16; i += 2) groups.push((bytes[offset + i]! << 8) | bytes[offset + i + 1]!);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return `::ffff:${ipv4Text(((groups[6]! << 16) | groups[7]!) >>> 0)}`;
  }
  const { start, length } = longestZeroRun(groups);
  const hex = (group: number) => group.toString(16);
  if (length < 2) return groups.map(hex).join(":");
  return `${groups.slice(0, start).map(hex).join(":")}::${groups
    .slice(start + length)
    .map(hex)
    .join(":")}`;
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  return best;
}
