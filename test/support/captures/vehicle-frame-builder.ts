import { type ByteOrder, Bytes, concatenated } from "./capture-builder.ts";

/** What vehicles send, in code, as `frame-builder.ts` does for Ethernet and IP. */

const empty = new Uint8Array(0);
const big = () => new Bytes("big-endian");

export const CanFlag = { extended: 0x8000_0000, remote: 0x4000_0000, error: 0x2000_0000 } as const;

/** LINKTYPE_CAN_SOCKETCAN: identifier and flags big endian. `length` may contradict the data. */
export function can(idAndFlags: number, payload: Uint8Array = empty, length = payload.length): Uint8Array {
  return concatenated(big().u32(idAndFlags).u8(length, 0, 0, 0).build(), payload);
}

/** The same with the flags of CAN FD: 4 FD frame, 1 bit rate switch, 2 error state. */
export function canFd(idAndFlags: number, payload: Uint8Array = empty, flags = 4): Uint8Array {
  return concatenated(big().u32(idAndFlags).u8(payload.length, flags, 0, 0).build(), payload);
}

/** LINKTYPE_CAN_SOCKETCAN with CAN XL: priority, flags with the XL bit, SDU type, length (little endian), acceptance field. */
export function canXl(priority: number, payload: Uint8Array = empty, length = payload.length): Uint8Array {
  return concatenated(
    big().u32(priority).u8(0x80, 3).build(),
    new Bytes("little-endian").u16(length).u32(0x1234_5678).build(),
    payload,
  );
}

/**
 * One of the frames above as a Linux cooked capture has it: the identifier, and the length of CAN XL, as the machine had them
 * that wrote the capture (libpcap, pcap-util.c).
 */
export function cookedCan(frame: Uint8Array, order: ByteOrder = "little-endian"): Uint8Array {
  const out = frame.slice();
  if (order === "little-endian") out.subarray(0, 4).reverse();
  else if (((out[4] ?? 0) & 0x80) !== 0) out.subarray(6, 8).reverse();
  return out;
}

/** LINKTYPE_LIN. */
export function lin(payload: Uint8Array, length = payload.length): Uint8Array {
  return concatenated(
    big()
      .u8(1, 0, 0, 0, length << 4, 0x3c, 0xff, 0)
      .build(),
    payload,
  );
}

/** LINKTYPE_FLEXRAY: a frame on channel A; `words` of two bytes. */
export function flexRay(payload: Uint8Array, words = payload.length / 2): Uint8Array {
  return concatenated(
    big()
      .u8(1, 0)
      .u8(0x20, 0x05, words << 1, 0, 3)
      .build(),
    payload,
  );
}

export interface SomeipHeader {
  readonly service?: number;
  readonly method?: number;
  readonly length?: number;
  readonly client?: number;
  readonly session?: number;
  readonly protocolVersion?: number;
  readonly interfaceVersion?: number;
  readonly messageType?: number;
  readonly returnCode?: number;
}

/** AUTOSAR PRS_SOMEIPProtocol section 4.1.2. */
export function someip(header: SomeipHeader, payload: Uint8Array = empty): Uint8Array {
  return concatenated(
    big()
      .u16(header.service ?? 0x1234, header.method ?? 0x8001)
      .u32(header.length ?? 8 + payload.length)
      .u16(header.client ?? 0x0011, header.session ?? 0x0022)
      .u8(header.protocolVersion ?? 1, header.interfaceVersion ?? 3)
      .u8(header.messageType ?? 2, header.returnCode ?? 0)
      .build(),
    payload,
  );
}

/** AUTOSAR PRS_SOMEIPServiceDiscoveryProtocol: one FindService entry and no options. */
export function serviceDiscovery(): Uint8Array {
  const body = big()
    .u32(0xc000_0000, 16)
    .u8(0, 0, 0, 0)
    .u16(0x1234, 0xffff)
    .u32(0xff00_0003, 0xffff_ffff, 0)
    .build();
  return someip({ service: 0xffff, method: 0x8100, client: 0, session: 1, interfaceVersion: 1 }, body);
}

/** ISO 13400-2: version, its inverse, payload type and length. */
export function doip(
  header: { type: number; version?: number; inverse?: number; length?: number },
  payload: Uint8Array = empty,
): Uint8Array {
  const version = header.version ?? 2;
  return concatenated(
    big()
      .u8(version, header.inverse ?? version ^ 0xff)
      .u16(header.type)
      .u32(header.length ?? payload.length)
      .build(),
    payload,
  );
}

/** A DoIP diagnostic message (0x8001) with its user data. */
export function diagnostic(source: number, target: number, ...userData: number[]): Uint8Array {
  return doip(
    { type: 0x8001 },
    big()
      .u16(source, target)
      .u8(...userData)
      .build(),
  );
}

/** IEEE 1588-2019 section 13.3, with a body of ten bytes. */
export function ptp(header: {
  type: number;
  sequence: number;
  version?: number;
  length?: number;
}): Uint8Array {
  return big()
    .u8(0x10 | header.type, header.version ?? 2)
    .u16(header.length ?? 44)
    .raw(new Uint8Array(26))
    .u16(header.sequence)
    .u8(0, 0)
    .raw(new Uint8Array(10))
    .build();
}

export interface TecmpHeader {
  readonly device?: number;
  readonly version?: number;
  readonly messageType?: number;
  readonly dataType: number;
}

/** TECMP user manual 1.7: the packet's header, then its records. */
export function tecmp(header: TecmpHeader, ...records: Uint8Array[]): Uint8Array {
  return concatenated(
    big()
      .u16(header.device ?? 0x0041, 0x0100)
      .u8(header.version ?? 3, header.messageType ?? 3)
      .u16(header.dataType, 0, 0x000f)
      .build(),
    ...records,
  );
}

export interface ModuleRecordHeader {
  readonly interfaceId?: number;
  /** Nanoseconds since 1970, with the flags in the upper bits. */
  readonly time?: bigint;
  readonly flags?: number;
  readonly length?: number;
}

/** 2023-11-14T22:13:20.123456789Z */
export const moduleTime = 1_700_000_000_123_456_789n;

export function tecmpRecord(header: ModuleRecordHeader, payload: Uint8Array): Uint8Array {
  return concatenated(
    big()
      .u32(header.interfaceId ?? 5)
      .u64(header.time ?? moduleTime)
      .u16(header.length ?? payload.length, header.flags ?? 0)
      .build(),
    payload,
  );
}

/** The data of TECMP's CAN and CAN FD records. */
export function tecmpCan(id: number, payload: Uint8Array, length = payload.length): Uint8Array {
  return concatenated(big().u32(id).u8(length).build(), payload);
}

/** ASAM CMP 1.0: the packet's header, then its messages. */
export function asamCmp(
  header: { device?: number; messageType?: number },
  ...messages: Uint8Array[]
): Uint8Array {
  return concatenated(
    big()
      .u8(1, 0)
      .u16(header.device ?? 0x0102)
      .u8(header.messageType ?? 1, 1)
      .u16(0x0200)
      .build(),
    ...messages,
  );
}

export function asamCmpMessage(
  header: ModuleRecordHeader & { payloadType: number },
  payload: Uint8Array,
): Uint8Array {
  return concatenated(
    big()
      .u64(header.time ?? moduleTime)
      .u32(header.interfaceId ?? 5)
      .u8(header.flags ?? 0, header.payloadType)
      .u16(header.length ?? payload.length)
      .build(),
    payload,
  );
}

/** The payload of ASAM CMP's CAN and CAN FD messages; `id` with its flags in the upper three bits. */
export function asamCmpCan(
  header: { id: number; flags?: number; length?: number },
  payload: Uint8Array,
): Uint8Array {
  return concatenated(
    big()
      .u16(header.flags ?? 0, 0)
      .u32(header.id, 0)
      .u16(0)
      .u8(payload.length, header.length ?? payload.length)
      .build(),
    payload,
  );
}

/** proconX CAN-ETH: "ISO11898", version, number of frames. */
export function canInUdp(frames: readonly Uint8Array[], count = frames.length, version = 1): Uint8Array {
  return concatenated(big().raw(new TextEncoder().encode("ISO11898")).u8(version, count).build(), ...frames);
}

export function canInUdpFrame(
  frame: { id: number; extended?: boolean; remote?: boolean; length?: number },
  payload: Uint8Array,
): Uint8Array {
  return concatenated(
    new Bytes("little-endian")
      .u32(frame.id)
      .u8(frame.length ?? payload.length)
      .build(),
    payload,
    new Uint8Array(8 - payload.length),
    Uint8Array.of(frame.extended ? 1 : 0, frame.remote ? 1 : 0),
  );
}
