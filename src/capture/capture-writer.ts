import { concatenated } from "./concatenated.ts";
/** A packet to be written into a capture file; the bytes are copied. */
export interface PacketToWrite {
  readonly linkType: number;
  /** Interface within its section; -1 where the packet came from classic pcap. */
  readonly interfaceId: number;
  readonly interfaceName: string | null;
  readonly packetComment: string | null;
  /** Null where the packet has no time: such a packet becomes a Simple Packet Block. */
  readonly time: { readonly seconds: number; readonly nanoseconds: number } | null;
  readonly originalLength: number;
  readonly bytes: Uint8Array;
}

/** Writes one capture file: bytes of the header first, then of each packet. */
export interface CaptureWriter {
  /** Bytes to append to the file for this packet, headers that it needs first included. */
  packet(packet: PacketToWrite): Uint8Array;
}

/**
 * Classic pcap, little-endian, nanosecond resolution (magic 0xa1b23c4d, draft-ietf-opsawg-pcap section 4). The file has one
 * link type and unsigned 32-bit seconds: a packet that does not fit is an error that says so.
 */
export class PcapWriter implements CaptureWriter {
  #linkType: number | null = null;

  packet(packet: PacketToWrite): Uint8Array {
    const first = this.#linkType === null;
    this.#linkType ??= packet.linkType;
    if (packet.linkType !== this.#linkType) {
      throw new Error(
        `a pcap file has one link type (${this.#linkType} here), and a packet has ${packet.linkType}: write .pcapng`,
      );
    }
    const { time } = packet;
    if (time === null || time.seconds < 0 || time.seconds > 0xffffffff) {
      throw new Error(
        `a pcap record needs a time from 1970 to 2106, and a packet has ${time?.seconds ?? "none"}: write .pcapng`,
      );
    }
    const length = packet.bytes.length;
    const out = new Uint8Array((first ? 24 : 0) + 16 + length);
    const view = new DataView(out.buffer);
    if (first) writePcapHeader(view, this.#linkType);
    const at = first ? 24 : 0;
    view.setUint32(at, time.seconds, true);
    view.setUint32(at + 4, time.nanoseconds, true);
    view.setUint32(at + 8, length, true);
    view.setUint32(at + 12, packet.originalLength, true);
    out.set(packet.bytes, at + 16);
    return out;
  }
}

function writePcapHeader(view: DataView, linkType: number): void {
  view.setUint32(0, 0xa1b23c4d, true);
  view.setUint16(4, 2, true);
  view.setUint16(6, 4, true);
  view.setUint32(16, 262_144, true);
  view.setUint32(20, linkType, true);
}

const utf8 = new TextEncoder();
const NANOSECONDS = 9;
/** Seconds, some 544 years: what a packet's 64 bits of nanoseconds can count and a little less. */
const ERA = 2 ** 34;

/**
 * pcapng, little-endian, one section, nanosecond resolution (draft-ietf-opsawg-pcapng). An Interface Description Block is
 * written when its first packet comes; packets before 1970, or after 2514, are on interfaces with an `if_tsoffset`.
 */
export class PcapngWriter implements CaptureWriter {
  readonly #interfaces = new Map<string, number>();
  #started = false;

  packet(packet: PacketToWrite): Uint8Array {
    const blocks: Uint8Array[] = [];
    if (!this.#started) blocks.push(sectionHeaderBlock());
    this.#started = true;
    // A Simple Packet Block belongs to interface 0, so a capture that begins with one describes it first.
    const era = packet.time === null ? 0 : Math.floor(packet.time.seconds / ERA);
    const key = JSON.stringify([packet.interfaceId, packet.linkType, packet.interfaceName, era]);
    let interfaceId = this.#interfaces.get(key);
    if (interfaceId === undefined) {
      interfaceId = this.#interfaces.size;
      this.#interfaces.set(key, interfaceId);
      blocks.push(interfaceDescriptionBlock(packet.linkType, packet.interfaceName, era * ERA));
    }
    blocks.push(
      packet.time === null
        ? simplePacketBlock(packet, interfaceId)
        : enhancedPacketBlock(
            packet,
            BigInt(packet.time.seconds - era * ERA) * 1_000_000_000n + BigInt(packet.time.nanoseconds),
            interfaceId,
          ),
    );
    return concatenated(blocks);
  }
}

function sectionHeaderBlock(): Uint8Array {
  const body = new DataView(new ArrayBuffer(16));
  body.setUint32(0, 0x1a2b3c4d, true);
  body.setUint16(4, 1, true);
  body.setBigInt64(8, -1n, true);
  return block(0x0a0d0d0a, [bytesOf(body)]);
}

function interfaceDescriptionBlock(linkType: number, name: string | null, offset: number): Uint8Array {
  const body = new DataView(new ArrayBuffer(8));
  body.setUint16(0, linkType, true);
  const options = [option(9, new Uint8Array([NANOSECONDS]))];
  if (offset !== 0) {
    const seconds = new DataView(new ArrayBuffer(8));
    seconds.setBigInt64(0, BigInt(offset), true);
    options.push(option(14, bytesOf(seconds)));
  }
  if (name !== null) options.unshift(option(2, utf8.encode(name)));
  return block(1, [bytesOf(body), ...options, option(0, new Uint8Array(0))]);
}

function enhancedPacketBlock(packet: PacketToWrite, nanoseconds: bigint, interfaceId: number): Uint8Array {
  const body = new DataView(new ArrayBuffer(20));
  body.setUint32(0, interfaceId, true);
  body.setUint32(4, Number((nanoseconds >> 32n) & 0xffffffffn), true);
  body.setUint32(8, Number(nanoseconds & 0xffffffffn), true);
  body.setUint32(12, packet.bytes.length, true);
  body.setUint32(16, packet.originalLength, true);
  const parts = [bytesOf(body), padded(packet.bytes)];
  if (packet.packetComment !== null) {
    parts.push(option(1, utf8.encode(packet.packetComment)), option(0, new Uint8Array(0)));
  }
  return block(6, parts);
}

function simplePacketBlock(packet: PacketToWrite, interfaceId: number): Uint8Array {
  if (interfaceId !== 0) {
    throw new Error(
      `a packet without a time must be on the first interface of a pcapng section, and it is on number ${interfaceId}`,
    );
  }
  const body = new DataView(new ArrayBuffer(4));
  body.setUint32(0, packet.originalLength, true);
  return block(3, [bytesOf(body), padded(packet.bytes)]);
}

/** Block type, total length, body, total length again (section 3.1). */
function block(type: number, parts: readonly Uint8Array[]): Uint8Array {
  const bodyLength = parts.reduce((sum, part) => sum + part.length, 0);
  const head = new DataView(new ArrayBuffer(8));
  head.setUint32(0, type, true);
  head.setUint32(4, bodyLength + 12, true);
  const tail = new DataView(new ArrayBuffer(4));
  tail.setUint32(0, bodyLength + 12, true);
  return concatenated([bytesOf(head), ...parts, bytesOf(tail)]);
}

/** Option code, length, value padded to 32 bits (section 3.5). */
function option(code: number, value: Uint8Array): Uint8Array {
  if (value.length > 0xffff) {
    throw new Error(`option ${code} has ${value.length} bytes: a pcapng option holds at most 65535`);
  }
  const head = new DataView(new ArrayBuffer(4));
  head.setUint16(0, code, true);
  head.setUint16(2, value.length, true);
  return concatenated([bytesOf(head), padded(value)]);
}

function padded(bytes: Uint8Array): Uint8Array {
  if (bytes.length % 4 === 0) return bytes;
  const out = new Uint8Array((bytes.length + 3) & ~3);
  out.set(bytes);
  return out;
}

function bytesOf(view: DataView): Uint8Array {
  return new Uint8Array(view.buffer);
}
