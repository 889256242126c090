import { Random } from "../random.ts";

/** LINKTYPE_ values of the traffic below. */
export const LINKTYPE_ETHERNET = 1;
export const LINKTYPE_CAN_SOCKETCAN = 227;

/** One packet of synthetic traffic; `bytes` is a window that the next packet overwrites. */
export interface TrafficPacket {
  readonly linkType: number;
  readonly bytes: Uint8Array;
  /** Nanoseconds since the packet before. */
  readonly gapNanoseconds: number;
}

/** Share of each kind, out of the sum of all. */
export interface TrafficMix {
  readonly tcp: number;
  readonly udp: number;
  readonly ipv6: number;
  readonly icmp: number;
  readonly arp: number;
  readonly someip: number;
  readonly doip: number;
  readonly ptp: number;
  readonly can: number;
}

/** What a vehicle's Ethernet carries beside its own protocols: the mix that general packet tools are measured on. */
export const ethernetMix: TrafficMix = {
  tcp: 45,
  udp: 40,
  ipv6: 10,
  icmp: 2,
  arp: 3,
  someip: 0,
  doip: 0,
  ptp: 0,
  can: 0,
};

/** What a gateway in a vehicle records. CAN only where the capture has an interface for it. */
export const vehicleMix: TrafficMix = {
  tcp: 10,
  udp: 10,
  ipv6: 5,
  icmp: 1,
  arp: 1,
  someip: 55,
  doip: 3,
  ptp: 5,
  can: 10,
};

type Kind = keyof TrafficMix;

/** Endless traffic of one vehicle, the same for the same seed. */
export class Traffic {
  readonly #random: Random;
  readonly #kinds: Kind[] = [];
  readonly #buffer = new Uint8Array(2048);
  readonly #view = new DataView(this.#buffer.buffer);
  #session = 0;

  constructor(seed: number, mix: TrafficMix) {
    this.#random = new Random(seed);
    for (const [kind, share] of Object.entries(mix)) {
      for (let i = 0; i < share; i++) this.#kinds.push(kind as Kind);
    }
  }

  next(): TrafficPacket {
    const random = this.#random;
    const gapNanoseconds = 1_000 + random.below(400_000);
    const kind = random.pick(this.#kinds);
    if (kind === "can") {
      return { linkType: LINKTYPE_CAN_SOCKETCAN, bytes: this.#window(this.#can()), gapNanoseconds };
    }
    return { linkType: LINKTYPE_ETHERNET, bytes: this.#window(this.#ethernetFrame(kind)), gapNanoseconds };
  }

  #window(length: number): Uint8Array {
    return this.#buffer.subarray(0, length);
  }

  #ethernetFrame(kind: Exclude<Kind, "can">): number {
    switch (kind) {
      case "tcp":
        return this.#ipv4(6, (at) => this.#tcp(at, this.#random.pick([80, 443, 8080]), this.#payload(1300)));
      case "udp":
        return this.#ipv4(17, (at) =>
          this.#udp(at, 40_000, 5004, (data) => this.#fill(data, this.#payload(1200))),
        );
      case "ipv6":
        return this.#ipv6();
      case "icmp":
        return this.#ipv4(1, (at) => this.#icmp(at));
      case "arp":
        return this.#arp();
      case "someip":
        return this.#ipv4(17, (at) => this.#udp(at, 30_501, 30_501, (data) => this.#someip(data)));
      case "doip":
        return this.#ipv4(6, (at) => this.#doip(at));
      case "ptp":
        return this.#ptp();
    }
  }

  /** IEEE 802.3; some frames carry an 802.1Q tag. Returns where the payload begins. */
  #ethernet(etherType: number): number {
    const view = this.#view;
    const host = this.#random.below(24);
    view.setUint16(0, 0x0200);
    view.setUint32(2, 0x5e000000 + ((host + 7) % 24));
    view.setUint16(6, 0x0200);
    view.setUint32(8, 0x5e000000 + host);
    let at = 12;
    if (host % 3 === 0) {
      view.setUint16(at, 0x8100);
      view.setUint16(at + 2, ((host % 8) << 13) | (10 + (host % 4)));
      at += 4;
    }
    view.setUint16(at, etherType);
    return at + 2;
  }

  #ipv4(protocol: number, transport: (at: number) => number): number {
    const at = this.#ethernet(0x0800);
    const view = this.#view;
    const end = transport(at + 20);
    view.setUint16(at, 0x4500);
    view.setUint16(at + 2, end - at);
    view.setUint32(at + 4, (this.#random.below(65_536) << 16) | 0x4000);
    view.setUint16(at + 8, (64 << 8) | protocol);
    view.setUint16(at + 10, 0);
    view.setUint32(at + 12, 0x0a000000 + this.#host());
    view.setUint32(at + 16, 0x0a000100 + this.#host());
    let sum = 0;
    for (let i = 0; i < 20; i += 2) sum += view.getUint16(at + i);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
    view.setUint16(at + 10, ~sum & 0xffff);
    return end;
  }

  /** Some hosts talk more than others. */
  #host(): number {
    return this.#random.below(this.#random.below(48) + 1);
  }

  #ipv6(): number {
    const at = this.#ethernet(0x86dd);
    const view = this.#view;
    const end = this.#udp(at + 40, 546, 547, (data) => this.#fill(data, this.#payload(600)));
    view.setUint32(at, 0x60000000);
    view.setUint16(at + 4, end - at - 40);
    view.setUint16(at + 6, (17 << 8) | 64);
    for (const [address, host] of [
      [at + 8, this.#random.below(16)],
      [at + 24, 16 + this.#random.below(16)],
    ] as const) {
      view.setUint32(address, 0xfd530000);
      view.setUint32(address + 4, 0x7cb8);
      view.setUint32(address + 8, 0);
      view.setUint32(address + 12, host);
    }
    return end;
  }

  #udp(at: number, sourcePort: number, destinationPort: number, data: (at: number) => number): number {
    const end = data(at + 8);
    this.#view.setUint16(at, sourcePort + this.#random.below(8));
    this.#view.setUint16(at + 2, destinationPort);
    this.#view.setUint16(at + 4, end - at);
    this.#view.setUint16(at + 6, 0);
    return end;
  }

  #tcp(at: number, port: number, length: number): number {
    const view = this.#view;
    view.setUint16(at, 49_152 + this.#random.below(64));
    view.setUint16(at + 2, port);
    view.setUint32(at + 4, this.#random.uint32());
    view.setUint32(at + 8, this.#random.uint32());
    view.setUint16(at + 12, 0x5010 | (this.#random.chance(0.3) ? 8 : 0));
    view.setUint16(at + 14, 8192 + this.#random.below(4) * 1024);
    view.setUint32(at + 16, 0);
    return this.#fill(at + 20, length);
  }

  /** AUTOSAR SOME/IP: a notification of one of a few services. */
  #someip(at: number): number {
    const view = this.#view;
    const service = this.#random.below(12);
    const length = 8 + 4 * this.#random.below(24);
    view.setUint16(at, 0x1000 + service);
    view.setUint16(at + 2, 0x8000 + this.#random.below(8));
    view.setUint32(at + 4, 8 + length);
    view.setUint16(at + 8, 0);
    this.#session = this.#session === 0xffff ? 1 : this.#session + 1;
    view.setUint16(at + 10, this.#session);
    view.setUint32(at + 12, 0x01010200);
    return this.#fill(at + 16, length);
  }

  /** ISO 13400 diagnostic message that carries a UDS request or its answer. */
  #doip(at: number): number {
    const view = this.#view;
    const end = this.#tcp(at, 13_400, 0);
    view.setUint32(end, 0x02fd8001);
    view.setUint32(end + 4, 7);
    view.setUint16(end + 8, 0x0e80);
    view.setUint16(end + 10, 0x1000 + this.#random.below(6));
    view.setUint8(end + 12, this.#random.pick([0x22, 0x62, 0x7f]));
    view.setUint16(end + 13, 0xf190);
    return end + 15;
  }

  #icmp(at: number): number {
    this.#view.setUint32(at, 0x08000000);
    this.#view.setUint32(at + 4, this.#random.uint32());
    return this.#fill(at + 8, 56);
  }

  #arp(): number {
    const at = this.#ethernet(0x0806);
    const view = this.#view;
    view.setUint32(at, 0x00010800);
    view.setUint16(at + 4, 0x0604);
    view.setUint16(at + 6, this.#random.between(1, 2));
    this.#buffer.copyWithin(at + 8, 6, 12);
    view.setUint32(at + 14, 0x0a000000 + this.#random.below(48));
    view.setUint16(at + 18, 0);
    view.setUint32(at + 20, 0);
    view.setUint32(at + 24, 0x0a000000 + this.#random.below(48));
    this.#buffer.fill(0, at + 28, 60);
    return Math.max(60, at + 28);
  }

  /** IEEE 802.1AS over Ethernet: sync (0) and follow-up (8) with one sequence number. */
  #ptp(): number {
    const at = this.#ethernet(0x88f7);
    const view = this.#view;
    this.#buffer.fill(0, at, at + 44);
    view.setUint16(at, ((0x10 | this.#random.pick([0, 8])) << 8) | 2);
    view.setUint16(at + 2, 44);
    view.setUint16(at + 30, this.#random.below(65_536));
    return Math.max(60, at + 44);
  }

  /** LINKTYPE_CAN_SOCKETCAN: identifier and flags big endian, then the length, three reserved bytes, the data. */
  #can(): number {
    const extended = this.#random.chance(0.2);
    const id = extended ? 0x18da0000 + this.#random.below(64) : 0x100 + this.#random.below(96);
    this.#view.setUint32(0, extended ? id + 0x80000000 : id);
    const length = this.#random.pick([2, 4, 8, 8, 8]);
    this.#view.setUint32(4, length << 24);
    return this.#fill(8, length);
  }

  /** Most payloads are short, a few are long. */
  #payload(most: number): number {
    return this.#random.chance(0.6) ? this.#random.below(120) : this.#random.below(most);
  }

  /** Half of a payload repeats, as telemetry does; half is noise. Returns its end. */
  #fill(at: number, length: number): number {
    for (let i = 0; i < length; i += 4) {
      this.#view.setUint32(at + i, i % 8 === 0 ? 0x20202020 + (i & 0x3f) : this.#random.uint32());
    }
    return at + length;
  }
}
