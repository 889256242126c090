import { expect, test } from "vitest";
import { sourceId } from "../../src/manifest/source-id.ts";
import { sha256 } from "../../src/node/hash.ts";

const upload = {
  bucket: "bucket",
  key: "car ü/a.pcap",
  eTag: "d41d8cd98f00b204e9800998ecf8427e",
  size: 2 ** 33,
};

test("is the beginning of SHA-256 over the JSON array, so that others can compute it", () => {
  // printf '["bucket","car ü/a.pcap","d41d8cd98f00b204e9800998ecf8427e",8589934592]' | sha256sum
  expect(sourceId(upload, sha256)).toBe("6f12fb0f93dfe37009381bdec7f41685");
});

test("each part makes another source", () => {
  const ids = [
    upload,
    { ...upload, bucket: "b" },
    { ...upload, key: "k" },
    { ...upload, eTag: "e" },
    { ...upload, size: 1 },
  ];
  expect(new Set(ids.map((source) => sourceId(source, sha256))).size).toBe(5);
});
