/** What decides which application a port carries, where the port decides. */
export interface DecodeSettings {
  /** UDP and TCP: a message is taken for SOME/IP by its header alone; on other ports the whole payload must be SOME/IP. */
  readonly someipPorts: readonly number[];
  /** UDP and TCP. */
  readonly doipPorts: readonly number[];
}

/** Ports that the standards assign. */
export const decodeDefaults: DecodeSettings = {
  /** Service discovery (AUTOSAR PRS_SOMEIPServiceDiscoveryProtocol). */
  someipPorts: [30_490],
  /** ISO 13400-2. */
  doipPorts: [13_400],
};

/** What {@link applicationPorts} says of a port; several may be true of one. */
export const Application = { someip: 1, doip: 2, ptp: 4, canInUdp: 8 } as const;

/** IEEE 1588-2019 annex C: event and general messages. */
const PTP_PORTS = [319, 320];
/** Frames of ISO 11898 in UDP. */
const CAN_PORT = 11_898;

/** The {@link Application} flags of each port: one look-up a port, where a list would be searched for each packet. */
export function applicationPorts(settings: DecodeSettings): Uint8Array {
  const ports = new Uint8Array(65_536);
  const set = (port: number, flag: number) => {
    ports[port] = ports[port]! | flag;
  };
  for (const port of settings.someipPorts) set(port, Application.someip);
  for (const port of settings.doipPorts) set(port, Application.doip);
  for (const port of PTP_PORTS) set(port, Application.ptp);
  set(CAN_PORT, Application.canInUdp);
  return ports;
}

/** Shared by all decoders without settings of their own: there is one decoder a capture, and captures may be small. */
export const defaultApplicationPorts = applicationPorts(decodeDefaults);
