import { describe, expect, test } from "vitest";
import { concatenated } from "../../../../test/support/captures/capture-builder.ts";
import { decoded, type FrameOptions, type Row } from "../../../../test/support/captures/decode-rows.ts";
import { data, ipv4, tcp, udp } from "../../../../test/support/captures/frame-builder.ts";
import {
  type SomeipHeader,
  serviceDiscovery,
  someip,
} from "../../../../test/support/captures/vehicle-frame-builder.ts";

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

describe("magic cookies (PRS_SOMEIP_00154)", () => {
  const cookie = (method: number) =>
    someip({ service: 0xffff, method, client: 0xdead, session: 0xbeef, interfaceVersion: 1, messageType: 1 });

  test.each([0x0000, 0x8000])("before the message, method 0x%s: the columns are the message's", (method) => {
    const message = someip({ service: 7 }, data(4));
    expect(overTcp(concatenated(cookie(method), cookie(method), message))).toMatchObject({
      someipServiceId: 7,
      someipCount: 3,
      payloadLength: 4,
    });
    expect(overUdp(concatenated(cookie(method), message), SD_PORT)).toMatchObject({ someipServiceId: 7 });
  });

  test("alone are what the columns show", () => {
    expect(overTcp(cookie(0))).toMatchObject({ someipServiceId: 0xffff, someipCount: 1 });
  });
});

describe("on a port of SOME/IP", () => {
  const wrong: [string, SomeipHeader][] = [
    ["protocol version", { protocolVersion: 2 }],
    ["message type", { messageType: 0x55 }],
    ["return code of a request", { messageType: 0, returnCode: 1 }],
    ["return code of a response", { messageType: 0x80, returnCode: 0x5f }],
  ];

  test.each(wrong)("a datagram with a wrong %s has its columns and is malformed", (_, header) => {
    const payload = someip({ service: 7, ...header }, data(4));
    const expected = { someipServiceId: 7, someipCount: 1, payloadLength: 4, decodeStatus: "malformed" };
    expect(overUdp(payload, SD_PORT)).toMatchObject(expected);
    expect(overTcp(payload, SD_PORT)).toMatchObject(expected);
  });

  test.each(wrong)(
    "a TCP segment with a wrong %s whose length is not its own continues another one",
    (_, header) => {
      const row = overTcp(someip({ ...header, length: 100 }, data(4)), SD_PORT);
      expect(row).not.toHaveProperty("someipServiceId");
      expect(row).toMatchObject({ payloadLength: 20, decodeStatus: "ok" });
    },
  );

  test.each([0, 7, 13, 4_000_000_000])("a datagram with the length %i contradicts itself", (length) => {
    expect(overUdp(someip({ service: 7, length }, data(4)), SD_PORT)).toMatchObject({
      someipServiceId: 7,
      someipCount: 1,
      decodeStatus: "malformed",
    });
  });

  test("a second message of a datagram that breaks the rules is counted, and the datagram is malformed", () => {
    const second = someip({ service: 8, protocolVersion: 0 }, data(4));
    expect(overUdp(concatenated(someip({ service: 7 }, data(4)), second), SD_PORT)).toMatchObject({
      someipServiceId: 7,
      someipCount: 2,
      decodeStatus: "malformed",
    });
  });

  test("a datagram in fragments goes on: its length is right", () => {
    const message = udp({ destination: SD_PORT, length: 200 }, someip({ service: 7, length: 184 }, data(20)));
    const row = decoded(ipv4({ protocol: 17, moreFragments: true }, message), { linkType: 101 });
    expect(row).toMatchObject({ someipServiceId: 7, decodeStatus: "ok" });
  });

  test("a header that the capture cut is truncated; one that TCP split is not", () => {
    const whole = ipv4({ protocol: 17 }, udp({ destination: SD_PORT }, someip({}, data(4))));
    expect(decoded(whole.subarray(0, 40), { linkType: 101 }).decodeStatus).toBe("truncated");
    expect(overTcp(someip({}).subarray(0, 12), SD_PORT).decodeStatus).toBe("ok");
  });
});
