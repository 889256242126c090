import { describe, expect, test } from "vitest";
import { concatenated } from "../support/capture-builder.ts";
import { decoded, type FrameOptions, type Row } from "../support/decode-rows.ts";
import { data, ipv4, tcp, udp } from "../support/frame-builder.ts";
import { type SomeipHeader, serviceDiscovery, someip } from "../support/vehicle-frame-builder.ts";

const PORT = 30_501;
const SD_PORT = 30_490;

function overUdp(payload: Uint8Array, destination = PORT, options: FrameOptions = {}): Row {
  return decoded(ipv4({ protocol: 17 }, udp({ destination }, payload)), { linkType: 101, ...options });
}

function overTcp(payload: Uint8Array, destination = PORT, options: FrameOptions = {}): Row {
  return decoded(ipv4({ protocol: 6 }, tcp({ destination }, payload)), { linkType: 101, ...options });
}

test("all fields of the first message (PRS_SOMEIPProtocol section 4.1.2)", () => {
  const header = { service: 0xabcd, method: 0x8765, client: 0x1111, session: 0x2222, interfaceVersion: 9 };
  expect(overUdp(someip({ ...header, messageType: 0x80, returnCode: 7 }, data(6)))).toMatchObject({
    someipServiceId: 0xabcd,
    someipMethodId: 0x8765,
    someipClientId: 0x1111,
    someipSessionId: 0x2222,
    someipInterfaceVersion: 9,
    someipMessageType: 0x80,
    someipReturnCode: 7,
    someipCount: 1,
    payloadOffset: 44,
    payloadLength: 6,
    decodeStatus: "ok",
  });
});

test("several messages in a datagram are counted, and the columns and the payload are the first's", () => {
  const messages = [someip({ service: 1 }, data(4)), someip({ service: 2 }), someip({ service: 3 }, data(9))];
  expect(overUdp(concatenated(...messages))).toMatchObject({
    someipServiceId: 1,
    someipCount: 3,
    payloadLength: 4,
  });
});

test("service discovery is a message", () => {
  expect(overUdp(serviceDiscovery(), SD_PORT)).toMatchObject({
    someipServiceId: 0xffff,
    someipMethodId: 0x8100,
    someipMessageType: 2,
    someipCount: 1,
  });
});

test.each([0x20, 0x21, 0x22, 0xa0, 0xa1])(
  "SOME/IP-TP: the flag stays in message type 0x%s",
  (messageType) => {
    expect(overUdp(someip({ messageType }, data(1396)))).toMatchObject({ someipMessageType: messageType });
  },
);

describe("over TCP", () => {
  test("messages that fill the segment are told on any port", () => {
    expect(overTcp(concatenated(someip({}, data(3)), someip({})))).toMatchObject({ someipCount: 2 });
  });

  test("a message that goes on in the next segment is told on a configured port only", () => {
    const begun = someip({ length: 5000 }, data(1000));
    expect(overTcp(begun)).not.toHaveProperty("someipCount");
    expect(overTcp(begun, PORT, { settings: { someipPorts: [PORT] } })).toMatchObject({ someipCount: 1 });
  });

  test("a segment in the middle of a message is payload, on a configured port too", () => {
    expect(overTcp(data(1000), PORT, { settings: { someipPorts: [PORT] } })).not.toHaveProperty(
      "someipCount",
    );
  });

  test("a segment without data is none", () => {
    expect(overTcp(data(0), SD_PORT)).toMatchObject({ payloadLength: 0, decodeStatus: "ok" });
  });
});

describe("other traffic is not called SOME/IP", () => {
  test.each<[string, SomeipHeader]>([
    ["a length that ends before the datagram", { length: 11 }],
    ["a length that ends behind the datagram", { length: 13 }],
    ["a length that ends in the header", { length: 7 }],
    ["another protocol version", { protocolVersion: 2 }],
    ["a message type that does not exist", { messageType: 3 }],
    ["a notification with a return code", { messageType: 2, returnCode: 1 }],
    ["a return code that does not exist", { messageType: 0x80, returnCode: 0x5f }],
  ])("%s", (_, header) => {
    const row = overUdp(someip(header, data(4)));
    expect(row).toMatchObject({ payloadOffset: 28, payloadLength: 20, decodeStatus: "ok" });
    expect(row).not.toHaveProperty("someipCount");
  });

  test("a second message that is none makes the first none", () => {
    const row = overUdp(concatenated(someip({}, data(4)), someip({ protocolVersion: 4 }, data(4))));
    expect(row).not.toHaveProperty("someipCount");
  });

  test("15 bytes are too few", () => {
    expect(overUdp(someip({}).subarray(0, 15))).not.toHaveProperty("someipCount");
    expect(overUdp(someip({}).subarray(0, 15), SD_PORT)).not.toHaveProperty("someipCount");
  });
});

test("on a configured port the header is enough, whatever follows the first message", () => {
  const settings = { someipPorts: [PORT] };
  const row = overUdp(concatenated(someip({}, data(4)), data(7)), PORT, { settings });
  expect(row).toMatchObject({ someipCount: 1, payloadLength: 4 });
});

test("a message cut by the snap length is told by its configured port", () => {
  const frame = ipv4({ protocol: 17 }, udp({ destination: SD_PORT }, someip({}, data(200)))).subarray(0, 96);
  expect(decoded(frame, { linkType: 101, originalLength: 244 })).toMatchObject({
    someipCount: 1,
    payloadLength: 52,
    decodeStatus: "ok",
  });
});

test("a later fragment is not looked into", () => {
  const frame = ipv4({ protocol: 17, fragmentOffset: 1480 }, someip({}, data(4)));
  expect(decoded(frame, { linkType: 101 })).not.toHaveProperty("someipCount");
});
