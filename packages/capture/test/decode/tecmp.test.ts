import { describe, expect, test } from "vitest";
import { concatenated } from "../../../../test/support/captures/capture-builder.ts";
import {
  decoded,
  decodedInner,
  decodedRecords,
  type Row,
  rowOf,
} from "../../../../test/support/captures/decode-rows.ts";
import { arp, data, ethernet, ipv4, udp, vlanTag } from "../../../../test/support/captures/frame-builder.ts";
import {
  moduleTime,
  someip,
  tecmp,
  tecmpCan,
  tecmpRecord,
} from "../../../../test/support/captures/vehicle-frame-builder.ts";

const ETHER_TYPE = 0x99fe;
const CAN = 0x02;
const CAN_FD = 0x03;
const LIN = 0x04;
const FLEX_RAY = 0x08;
const ETHERNET = 0x80;
const ETHERNET_10BASE_T1S = 0x82;
const EXTENDED = 0x8000_0000;

function inner(dataType: number, ...records: Uint8Array[]): Row[] {
  return decodedInner(ethernet(ETHER_TYPE, tecmp({ dataType }, ...records)));
}

describe("the packet's own row", () => {
  test("has the device, and the records as payload", () => {
    const record = tecmpRecord({}, tecmpCan(0x123, data(8)));
    const frame = ethernet(ETHER_TYPE, tecmp({ dataType: CAN, device: 0x0043 }, record));
    expect(decodedRecords(frame).map(rowOf)[0]).toEqual({
      ethDst: "02:00:00:00:00:0b",
      ethSrc: "02:00:00:00:00:0a",
      ethType: ETHER_TYPE,
      moduleDeviceId: 0x0043,
      payloadOffset: 26,
      payloadLength: record.length,
      decodeStatus: "ok",
    });
  });

  test.each([0, 1, 2, 4, 0x0b, 0x0c])("message type %i is about the module: no records", (messageType) => {
    const frame = ethernet(ETHER_TYPE, tecmp({ dataType: 0, messageType }, tecmpRecord({}, data(30))));
    expect(decoded(frame)).toMatchObject({ moduleDeviceId: 0x41, decodeStatus: "ok" });
  });

  test("the older EtherType is the same, with any device, also behind a VLAN tag", () => {
    const packet = tecmp({ dataType: CAN, device: 0x3000 }, tecmpRecord({}, tecmpCan(1, data(1))));
    const frame = ethernet(0x8100, vlanTag({ id: 5, type: 0x2090 }, packet));
    const [own, record] = decodedRecords(frame);
    expect(own).toMatchObject({ vlanId: 5, ethType: 0x2090, moduleDeviceId: 0x3000 });
    expect(record).toMatchObject({ vlanId: -1, moduleDeviceId: 0x3000, canId: 1 });
  });

  test("cut in the header it is truncated, without records", () => {
    expect(decoded(ethernet(ETHER_TYPE, tecmp({ dataType: CAN })).subarray(0, 25)).decodeStatus).toBe(
      "truncated",
    );
    expect(decoded(ethernet(ETHER_TYPE)).decodeStatus).toBe("truncated");
  });
});

describe("a record's row", () => {
  test("is counted from 1, has the module's time, and no frame; what the packet's interface says stays", () => {
    const records = [11n, 12n].map((time) =>
      tecmpRecord({ time: moduleTime + time }, tecmpCan(0x123, data(2))),
    );
    const frame = ethernet(ETHER_TYPE, tecmp({ dataType: CAN }, ...records));
    const rows = decodedRecords(frame, { seconds: 5, nanoseconds: 6, packetComment: "of the packet" });
    expect(rows.map((row) => row.recordNumber)).toEqual([-1, 1, 2]);
    expect(rows.map((row) => row.packetNumber)).toEqual([1, 1, 1]);
    expect(rows.map((row) => row.frameLength)).toEqual([frame.length, -1, -1]);
    expect(rows.map((row) => row.packetComment)).toEqual(["of the packet", null, null]);
    expect(rows.map((row) => [row.seconds, row.nanoseconds])).toEqual([
      [5, 6],
      [1_700_000_000, 123_456_800],
      [1_700_000_000, 123_456_801],
    ]);
    expect(rows[2]).toMatchObject({ linkType: 227, capturedLength: 7, originalLength: 7, interfaceId: -1 });
  });

  test.each<[string, bigint, number, number]>([
    ["one nanosecond", 1n, 0, 1],
    ["just below a second", 999_999_999n, 0, 999_999_999],
    ["a second", 1_000_000_000n, 1, 0],
    ["just below many seconds", 4_294_967_295_999_999_999n, 4_294_967_295, 999_999_999],
    [
      "the largest, with the flag of a clock that is not synchronized",
      0xbfff_ffff_ffff_ffffn,
      4_611_686_018,
      427_387_903,
    ],
  ])("%s is exact", (_, time, seconds, nanoseconds) => {
    const frame = ethernet(ETHER_TYPE, tecmp({ dataType: CAN }, tecmpRecord({ time }, tecmpCan(1, data(0)))));
    expect(decodedRecords(frame)[1]).toMatchObject({ hasTime: true, seconds, nanoseconds });
  });

  test("without a time of its own has the packet's, also where that has none", () => {
    const frame = ethernet(
      ETHER_TYPE,
      tecmp({ dataType: CAN }, tecmpRecord({ time: 0n }, tecmpCan(1, data(0)))),
    );
    expect(decodedRecords(frame, { seconds: 5, nanoseconds: 6 })[1]).toMatchObject({
      seconds: 5,
      nanoseconds: 6,
    });
    expect(decodedRecords(frame, { hasTime: false })[1]).toMatchObject({ hasTime: false });
    const timed = ethernet(ETHER_TYPE, tecmp({ dataType: CAN }, tecmpRecord({}, tecmpCan(1, data(0)))));
    expect(decodedRecords(timed, { hasTime: false })[1]).toMatchObject({ hasTime: true });
  });
});

describe("CAN", () => {
  test("identifier, length, data", () => {
    const records = [
      tecmpRecord({ interfaceId: 0xfedcba98 }, tecmpCan(0x7ff, data(8))),
      tecmpRecord({}, tecmpCan(EXTENDED + 0x1fffffff, data(3))),
    ];
    const [standard, extended] = inner(CAN, ...records);
    expect(standard).toEqual({
      moduleDeviceId: 0x41,
      moduleInterfaceId: 0xfedcba98,
      canId: 0x7ff,
      canExtended: false,
      canRemote: false,
      canError: false,
      canFd: false,
      canLength: 8,
      payloadOffset: 47,
      payloadLength: 8,
      decodeStatus: "ok",
    });
    expect(extended).toMatchObject({ canId: 0x1fffffff, canExtended: true, canLength: 3 });
  });

  test("the payload's offset is in the packet's frame", () => {
    const frame = ethernet(
      ETHER_TYPE,
      tecmp(
        { dataType: CAN },
        tecmpRecord({}, tecmpCan(1, data(8))),
        tecmpRecord({}, tecmpCan(2, Uint8Array.of(0xca, 0xfe))),
      ),
    );
    const { payloadOffset, payloadLength } = decodedInner(frame)[1] ?? {};
    expect([payloadOffset, payloadLength]).toEqual([76, 2]);
    expect(frame.subarray(76, 78)).toEqual(Uint8Array.of(0xca, 0xfe));
  });

  test("a checksum behind the data is no payload", () => {
    expect(inner(CAN, tecmpRecord({}, concatenated(tecmpCan(1, data(4)), data(2))))).toMatchObject([
      { canLength: 4, payloadLength: 4, decodeStatus: "ok" },
    ]);
  });

  test("data flags: remote; error; and the same bits of CAN FD mean other things", () => {
    const [remote] = inner(CAN, tecmpRecord({ flags: 0x0003 }, tecmpCan(1, data(0), 8)));
    expect(remote).toMatchObject({
      canRemote: true,
      canError: false,
      canLength: 8,
      payloadLength: 0,
      decodeStatus: "ok",
    });
    for (const flags of [0x0008, 0x0010, 0x0020, 0x0040, 0x0080, 0x2000]) {
      expect(inner(CAN, tecmpRecord({ flags }, tecmpCan(1, data(1))))).toMatchObject([
        { canError: true, canId: 1 },
      ]);
    }
    const [switched] = inner(CAN_FD, tecmpRecord({ flags: 0x0013 }, tecmpCan(1, data(64))));
    expect(switched).toMatchObject({ canFd: true, canRemote: false, canError: false, canLength: 64 });
    expect(inner(CAN_FD, tecmpRecord({ flags: 0x0100 }, tecmpCan(1, data(1))))).toMatchObject([
      { canError: true },
    ]);
  });

  test("replayed data are records; the flag to use the given CRC is no error", () => {
    const record = tecmpRecord({ flags: 0x2000 }, tecmpCan(1, data(1)));
    const rows = decodedInner(ethernet(ETHER_TYPE, tecmp({ dataType: CAN, messageType: 0x0a }, record)));
    expect(rows).toMatchObject([{ canId: 1, canError: false }]);
  });

  test("a length beyond the record is malformed, one beyond the captured bytes truncated", () => {
    const frame = ethernet(ETHER_TYPE, tecmp({ dataType: CAN }, tecmpRecord({}, tecmpCan(1, data(4), 8))));
    expect(decodedInner(frame)).toMatchObject([
      { canLength: 8, payloadLength: 4, decodeStatus: "malformed" },
    ]);
    const cut = ethernet(
      ETHER_TYPE,
      tecmp({ dataType: CAN }, tecmpRecord({}, tecmpCan(1, data(8)))),
    ).subarray(0, 50);
    expect(decodedInner(cut)).toMatchObject([{ canLength: 8, payloadLength: 3, decodeStatus: "truncated" }]);
    expect(decodedRecords(cut)[1]).toMatchObject({ capturedLength: 8, originalLength: 13 });
  });

  test("a record without room for identifier and length is malformed", () => {
    expect(inner(CAN, tecmpRecord({}, data(4)))).toEqual([
      { moduleDeviceId: 0x41, moduleInterfaceId: 5, decodeStatus: "malformed" },
    ]);
  });
});

test("LIN and FlexRay records are frames with lengths", () => {
  const lin = concatenated(Uint8Array.of(0x3c, 8), data(8), Uint8Array.of(0xff));
  const flexRay = concatenated(Uint8Array.of(7, 0, 0x3c, 16), data(16));
  const frames = [
    ethernet(ETHER_TYPE, tecmp({ dataType: LIN }, tecmpRecord({}, lin))),
    ethernet(ETHER_TYPE, tecmp({ dataType: FLEX_RAY }, tecmpRecord({}, flexRay))),
  ];
  const records = frames.map((frame) => decodedRecords(frame)[1]);
  expect(records[0]).toMatchObject({ linkType: 212, payloadOffset: 44, payloadLength: 8, decodeStatus: 0 });
  expect(records[1]).toMatchObject({ linkType: 210, payloadOffset: 46, payloadLength: 16, decodeStatus: 0 });
  expect(inner(LIN, tecmpRecord({}, data(1)))).toMatchObject([{ decodeStatus: "malformed" }]);
  expect(inner(FLEX_RAY, tecmpRecord({}, data(3)))).toMatchObject([{ decodeStatus: "malformed" }]);
});

describe("Ethernet", () => {
  const fcs = data(4);
  const frame = ethernet(
    0x8100,
    vlanTag({ id: 9, type: 0x0800 }, ipv4({ protocol: 17 }, udp({}, someip({}, data(4))))),
  );

  test("all columns are the inner frame's; the frame check sequence does not count", () => {
    const packet = ethernet(
      ETHER_TYPE,
      tecmp({ dataType: ETHERNET }, tecmpRecord({}, concatenated(frame, fcs))),
    );
    const record = decodedRecords(packet)[1];
    expect(record).toMatchObject({ linkType: 1, capturedLength: frame.length, originalLength: frame.length });
    expect(decodedInner(packet)).toMatchObject([
      {
        vlanId: 9,
        ethType: 0x0800,
        ipSrc: "10.0.0.1",
        someipCount: 1,
        moduleInterfaceId: 5,
        decodeStatus: "ok",
      },
    ]);
    const unknown = concatenated(ethernet(0x88b5, data(46)), fcs);
    expect(inner(ETHERNET, tecmpRecord({}, unknown))).toMatchObject([{ payloadLength: 46 }]);
  });

  test("10BASE-T1S: the time of the last beacon comes first", () => {
    const record = tecmpRecord({}, concatenated(data(8), ethernet(0x0806, arp(2)), fcs));
    expect(inner(ETHERNET_10BASE_T1S, record)).toMatchObject([{ arpOpcode: 2, decodeStatus: "ok" }]);
    expect(inner(ETHERNET_10BASE_T1S, tecmpRecord({}, data(7)))).toMatchObject([
      { decodeStatus: "malformed" },
    ]);
  });

  test("a module's packet inside a record is the record's payload", () => {
    const nested = ethernet(
      ETHER_TYPE,
      tecmp({ dataType: CAN, device: 7 }, tecmpRecord({}, tecmpCan(1, data(8)))),
    );
    const rows = inner(
      ETHERNET,
      tecmpRecord({}, concatenated(nested, fcs)),
      tecmpRecord({}, concatenated(frame, fcs)),
    );
    expect(rows).toMatchObject([
      { ethType: ETHER_TYPE, moduleDeviceId: 7 },
      { ethType: 0x0800, moduleDeviceId: 0x41 },
    ]);
  });

  test("a frame shorter than its frame check sequence is truncated", () => {
    expect(inner(ETHERNET, tecmpRecord({}, data(3)))).toMatchObject([{ decodeStatus: "truncated" }]);
  });
});

test.each([0x01, 0x07, 0x0a, 0x10, 0x20, 0xa0])(
  "data type 0x%s has rows whose link type is not known",
  (dataType) => {
    const packet = ethernet(
      ETHER_TYPE,
      tecmp({ dataType }, tecmpRecord({}, data(10)), tecmpRecord({}, data(4))),
    );
    expect(decodedRecords(packet)[1]?.linkType).toBe(-1);
    expect(decodedInner(packet)).toMatchObject([
      { moduleInterfaceId: 5, payloadOffset: 42, payloadLength: 10, decodeStatus: "unsupported" },
      { payloadLength: 4, decodeStatus: "unsupported" },
    ]);
  },
);

test("the padding of a short Ethernet frame is no record, nor is one cut in its header", () => {
  const packet = tecmp({ dataType: CAN }, tecmpRecord({}, tecmpCan(1, data(0))));
  expect(decodedInner(ethernet(ETHER_TYPE, concatenated(packet, new Uint8Array(40))))).toHaveLength(1);
  expect(decodedInner(ethernet(ETHER_TYPE, concatenated(packet, data(15))))).toHaveLength(1);
});
