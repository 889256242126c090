import { expect, test } from "vitest";
import { concatenated } from "../../../../test/support/captures/capture-builder.ts";
import { decoded } from "../../../../test/support/captures/decode-rows.ts";
import { arp, data, ethernet } from "../../../../test/support/captures/frame-builder.ts";

test.each([
  ["ARP", 0x0806, 2],
  ["RARP", 0x8035, 3],
])("%s gives its operation; the padding behind it is no payload (RFC 826)", (_, type, operation) => {
  expect(decoded(ethernet(type, concatenated(arp(operation), data(18))))).toMatchObject({
    arpOpcode: operation,
    payloadOffset: 42,
    payloadLength: 0,
    decodeStatus: "ok",
  });
});

test("cut before the operation there is none; cut in the addresses it stays", () => {
  const frame = ethernet(0x0806, arp(1));
  expect(decoded(frame.subarray(0, 21))).not.toHaveProperty("arpOpcode");
  expect(decoded(frame.subarray(0, 21)).decodeStatus).toBe("truncated");
  expect(decoded(frame.subarray(0, 41))).toMatchObject({ arpOpcode: 1, decodeStatus: "truncated" });
});
