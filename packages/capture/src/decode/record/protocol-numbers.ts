/** LINKTYPE_ values (https://www.tcpdump.org/linktypes.html). */
export const LinkType = {
  null: 0,
  ethernet: 1,
  arcnetBsd: 7,
  ppp: 9,
  fddi: 10,
  rawBsd: 12,
  rawOpenBsd: 14,
  pppHdlc: 50,
  pppoe: 51,
  atmRfc1483: 100,
  raw: 101,
  ciscoHdlc: 104,
  ieee80211: 105,
  linuxClip: 106,
  frameRelay: 107,
  loop: 108,
  linuxSll: 113,
  ieee80211Radiotap: 127,
  arcnetLinux: 129,
  ppi: 192,
  pppWithDirection: 204,
  flexRay: 210,
  lin: 212,
  ipnet: 226,
  canSocketcan: 227,
  ipv4: 228,
  ipv6: 229,
  nflog: 239,
  ipOverInfiniband: 242,
  netlink: 253,
  pktap: 258,
  linuxSll2: 276,
} as const;

/** EtherType values (IEEE 802 numbers, IANA). */
export const EtherType = {
  ipv4: 0x0800,
  arp: 0x0806,
  vlan: 0x8100,
  rarp: 0x8035,
  ipv6: 0x86dd,
  providerBridge: 0x88a8,
  oldQinQ: 0x9100,
  mpls: 0x8847,
  mplsMulticast: 0x8848,
  pppoeSession: 0x8864,
  macsec: 0x88e5,
  /** Cisco FabricPath: an Ethernet header of its own before the frame. */
  fabricPath: 0x8903,
  /** Cisco VN-Tag. */
  vnTag: 0x8926,
  /** IEEE 802.1BR. */
  eTag: 0x893f,
  ptp: 0x88f7,
  /** Cisco MetaData. */
  metaData: 0x8909,
  nsh: 0x894f,
  /** IEEE 1722: recognised, its stream is payload. */
  avtp: 0x22f0,
  /** TECMP, and its successor ASAM CMP. */
  captureModule: 0x99fe,
  oldTecmp: 0x2090,
  /** Below this an Ethernet frame's type field is its length (IEEE 802.3 section 3.2.6). */
  first: 0x0600,
} as const;

/** IP protocol numbers (IANA). */
export const IpProtocol = {
  hopByHop: 0,
  icmp: 1,
  tcp: 6,
  udp: 17,
  routing: 43,
  fragment: 44,
  authentication: 51,
  icmpv6: 58,
  noNextHeader: 59,
  destinationOptions: 60,
  sctp: 132,
  mobility: 135,
  hostIdentity: 139,
  shim6: 140,
} as const;
