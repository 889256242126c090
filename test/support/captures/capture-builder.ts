/**
 * Captures in code, byte by byte as the specifications draw them: for tests of the reader, and of all that comes behind it.
 * Nothing here checks what it is given, so that damaged captures can be built too.
 */

export type ByteOrder = "little-endian" | "big-endian";
export const byteOrders: readonly ByteOrder[] = ["little-endian", "big-endian"];

export const PcapMagic = { microseconds: 0xa1b2c3d4, nanoseconds: 0xa1b23c4d, modified: 0xa1b2cd34 } as const;

/** Bytes of numbers and byte strings, one after another. */
export class Bytes {
  readonly #littleEndian: boolean;
  readonly #bytes: number[] = [];

  constructor(order: ByteOrder = "little-endian") {
    this.#littleEndian = order === "little-endian";
  }

  u8(...values: number[]): this {
    for (const value of values) this.#bytes.push(value & 0xff);
    return this;
  }

  u16(...values: number[]): this {
    for (const value of values) this.#number(BigInt(value), 2);
    return this;
  }

  u32(...values: number[]): this {
    for (const value of values) this.#number(BigInt(value), 4);
    return this;
  }

  u64(...values: bigint[]): this {
    for (const value of values) this.#number(value, 8);
    return this;
  }

  raw(bytes: Iterable<number>): this {
    for (const byte of bytes) this.#bytes.push(byte);
    return this;
  }

  build(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }

  #number(value: bigint, size: number): void {
    for (let i = 0; i < size; i++) {
      const shift = BigInt(8 * (this.#littleEndian ? i : size - 1 - i));
      this.#bytes.push(Number((value >> shift) & 0xffn));
    }
  }
}

export function concatenated(...parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export interface PcapHeader {
  readonly order?: ByteOrder;
  readonly magic?: number;
  readonly major?: number;
  readonly minor?: number;
  readonly thiszone?: number;
  readonly snapLength?: number;
  /** The whole field: link type, reserved bits, FCS bits. */
  readonly linkType?: number;
}

export interface PcapRecord {
  readonly seconds?: number;
  /** Micro- or nanoseconds, as the magic number says. */
  readonly fraction?: number;
  readonly bytes?: Uint8Array;
  /** Defaults to the length of `bytes`. */
  readonly capturedLength?: number;
  readonly originalLength?: number;
}

/** A pcap file (draft-ietf-opsawg-pcap section 4 and 5). */
export function pcap(header: PcapHeader, records: readonly PcapRecord[]): Uint8Array {
  return concatenated(pcapHeader(header), ...records.map((record) => pcapRecord(header, record)));
}

export function pcapHeader(header: PcapHeader): Uint8Array {
  return new Bytes(header.order)
    .u32(header.magic ?? PcapMagic.microseconds)
    .u16(header.major ?? 2, header.minor ?? 4)
    .u32(header.thiszone ?? 0, 0, header.snapLength ?? 262_144, header.linkType ?? 1)
    .build();
}

export function pcapRecord(header: PcapHeader, record: PcapRecord): Uint8Array {
  const bytes = record.bytes ?? new Uint8Array(0);
  const out = new Bytes(header.order)
    .u32(record.seconds ?? 1, record.fraction ?? 0, record.capturedLength ?? bytes.length)
    .u32(record.originalLength ?? bytes.length);
  // Interface index, protocol, packet type, padding: what the patched libpcap added.
  if (header.magic === PcapMagic.modified) out.u32(3).u16(0x0800).u8(4, 0);
  return out.raw(bytes).build();
}

/** Records of a little-endian pcap without one byte of packets: as many bytes of headers, all alike and none of zeros. */
export function emptyPackets(bytes: number): Uint8Array {
  return Buffer.alloc(bytes, pcapRecord({}, {}));
}

/** Code and value of a pcapng option. */
export type Option = readonly [code: number, value: Uint8Array];

export interface PcapngPacket {
  readonly interfaceId?: number;
  /** Ticks of the interface's resolution. */
  readonly time?: bigint;
  readonly bytes?: Uint8Array;
  readonly capturedLength?: number;
  readonly originalLength?: number;
  readonly options?: readonly Option[];
}

export interface InterfaceDescription {
  readonly linkType?: number;
  readonly snapLength?: number;
  readonly name?: string;
  readonly tsresol?: number;
  readonly tsoffset?: bigint;
  readonly fcsLength?: number;
  readonly options?: readonly Option[];
}

const utf8 = new TextEncoder();

/** pcapng blocks in one byte order (draft-ietf-opsawg-pcapng section 4). */
export class PcapngBlocks {
  readonly order: ByteOrder;

  constructor(order: ByteOrder = "little-endian") {
    this.order = order;
  }

  /** Any block: type, total length, body padded to 4 bytes, total length. */
  block(type: number, body: Uint8Array, totalLength?: number, trailer?: number): Uint8Array {
    const padded = padding(body);
    const length = totalLength ?? padded.length + 12;
    return concatenated(
      new Bytes(this.order).u32(type, length).build(),
      padded,
      new Bytes(this.order).u32(trailer ?? length).build(),
    );
  }

  /** Options, ended by opt_endofopt; no byte where there are none. */
  options(options: readonly Option[] = []): Uint8Array {
    if (options.length === 0) return new Uint8Array(0);
    const out = new Bytes(this.order);
    for (const [code, value] of options) out.u16(code, value.length).raw(padding(value));
    return out.u16(0, 0).build();
  }

  sectionHeader(options: readonly Option[] = [], major = 1, minor = 0, sectionLength = -1n): Uint8Array {
    const body = new Bytes(this.order).u32(0x1a2b3c4d).u16(major, minor).u64(sectionLength);
    return this.block(0x0a0d0d0a, body.raw(this.options(options)).build());
  }

  interfaceDescription(description: InterfaceDescription = {}): Uint8Array {
    const { name, tsresol, tsoffset, fcsLength } = description;
    const options: Option[] = [...(description.options ?? [])];
    if (name !== undefined) options.push([2, utf8.encode(name)]);
    if (tsresol !== undefined) options.push([9, Uint8Array.of(tsresol)]);
    if (fcsLength !== undefined) options.push([13, Uint8Array.of(fcsLength)]);
    if (tsoffset !== undefined) options.push([14, new Bytes(this.order).u64(tsoffset).build()]);
    const body = new Bytes(this.order).u16(description.linkType ?? 1, 0).u32(description.snapLength ?? 0);
    return this.block(1, body.raw(this.options(options)).build());
  }

  enhancedPacket(packet: PcapngPacket): Uint8Array {
    const body = new Bytes(this.order).u32(packet.interfaceId ?? 0);
    return this.block(6, this.#packetBody(body, packet));
  }

  /** The obsolete Packet Block. */
  oldPacket(packet: PcapngPacket): Uint8Array {
    const body = new Bytes(this.order).u16(packet.interfaceId ?? 0, 0xffff);
    return this.block(2, this.#packetBody(body, packet));
  }

  simplePacket(bytes: Uint8Array, originalLength = bytes.length): Uint8Array {
    return this.block(3, new Bytes(this.order).u32(originalLength).raw(padding(bytes)).build());
  }

  nameResolution(): Uint8Array {
    const record = utf8.encode("\u007f\u0000\u0000\u0001localhost\0");
    const body = new Bytes(this.order).u16(1, record.length).raw(padding(record)).u16(0, 0);
    return this.block(4, body.build());
  }

  interfaceStatistics(interfaceId = 0): Uint8Array {
    return this.block(5, new Bytes(this.order).u32(interfaceId, 0, 0).build());
  }

  decryptionSecrets(secrets: Uint8Array): Uint8Array {
    const body = new Bytes(this.order).u32(0x544c534b, secrets.length).raw(padding(secrets));
    return this.block(10, body.build());
  }

  customBlock(data: Uint8Array, copied = true): Uint8Array {
    const body = new Bytes(this.order).u32(32_473).raw(data);
    return this.block(copied ? 0xbad : 0x40000bad, body.build());
  }

  #packetBody(body: Bytes, packet: PcapngPacket): Uint8Array {
    const bytes = packet.bytes ?? new Uint8Array(0);
    const time = packet.time ?? 0n;
    return body
      .u32(Number((time >> 32n) & 0xffffffffn), Number(time & 0xffffffffn))
      .u32(packet.capturedLength ?? bytes.length, packet.originalLength ?? bytes.length)
      .raw(padding(bytes))
      .raw(this.options(packet.options))
      .build();
  }
}

/** A comment option. */
export function comment(text: string): Option {
  return [1, utf8.encode(text)];
}

/** The bytes, and zeros up to a multiple of 4. */
function padding(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array((bytes.length + 3) & ~3);
  out.set(bytes);
  return out;
}

/** `length` bytes that differ from each other and by `seed`. */
export function filling(length: number, seed = 0): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 7 + seed * 31 + 1) & 0xff);
}
