import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { concatenated } from "../../../../test/support/captures/capture-builder.ts";
import { decoded } from "../../../../test/support/captures/decode-rows.ts";
import { data } from "../../../../test/support/captures/frame-builder.ts";
import { innerIpv4, linkTypeCaptures } from "../../../../test/support/captures/link-type-captures.ts";
import { LinkType } from "../../src/decode/record/protocol-numbers.ts";

const cases = linkTypeCaptures.flatMap(({ name, linkType, packets }) =>
  packets.map((bytes, i) => [name, i + 1, linkType, bytes] as const),
);

describe("outer headers of link types", () => {
  test.each(cases)("%s packet %i shows the datagram inside", (_name, _packet, linkType, bytes) => {
    const row = decoded(bytes, { linkType });
    expect(row).toMatchObject({ srcPort: 1111, dstPort: 2222, payloadLength: 5, decodeStatus: "ok" });
    expect(row.ipSrc).toBe(row.ipVersion === 6 ? "fd00::1" : "10.0.0.1");
  });

  test.each(cases)(
    "%s packet %i, cut anywhere, is never an error of the decoder",
    (_n, _p, linkType, bytes) => {
      for (let length = 0; length < bytes.length; length++) {
        const row = decoded(bytes.subarray(0, length), { linkType, originalLength: bytes.length });
        expect(["ok", "truncated", "malformed"]).toContain(row.decodeStatus);
      }
    },
  );

  test("PPI and PKTAP are not decoded inside themselves, however deep they lie", () => {
    const ppi = Uint8Array.of(0, 0, 8, 0, 192, 0, 0, 0);
    expect(decoded(concatenated(ppi, ppi, innerIpv4), { linkType: 192 })).toMatchObject({
      decodeStatus: "unsupported",
      payloadOffset: 8,
    });
  });

  test("a header of PPI or PKTAP that is shorter than itself is malformed", () => {
    expect(decoded(new Uint8Array(40), { linkType: 192 }).decodeStatus).toBe("malformed");
    expect(decoded(new Uint8Array(40), { linkType: 258 }).decodeStatus).toBe("malformed");
  });
});

describe("docs/link-types.md", () => {
  const text = readFileSync(new URL("../../../../docs/link-types.md", import.meta.url), "utf8");
  const listed = [...text.matchAll(/^\| (\d+) \|/gm)].map((match) => Number(match[1]));

  test("lists every link type that the decoder knows, in order, and no other", () => {
    expect(listed).toEqual(Object.values(LinkType).sort((a, b) => a - b));
  });

  test("the listed ones are those that are not unsupported", () => {
    const known: number[] = [];
    for (let linkType = 0; linkType < 65_536; linkType++) {
      if (decoded(data(0), { linkType }).decodeStatus !== "unsupported") known.push(linkType);
    }
    expect(known).toEqual(listed);
  });
});
