import { expect, test } from "vitest";
import { protocolObstacles, type TableWork } from "../../src/actions/known-features.ts";

const works: readonly TableWork[] = ["append", "rewrite", "state"];

test.each<[string, readonly TableWork[]]>([
  ["appendOnly", works],
  ["changeDataFeed", works],
  ["deletionVectors", works],
  ["columnMapping", works],
  ["vacuumProtocolCheck", works],
  ["typeWidening-preview", works],
  ["variantType", ["append"]],
  ["checkpointProtection", ["append"]],
  ["icebergCompatV2", ["append"]],
  ["inCommitTimestamp", ["append", "state"]],
  ["allowColumnDefaults", ["append", "state"]],
  ["rowTracking", ["state"]],
  ["clustering", ["state"]],
  ["catalogManaged", []],
  ["novelty", []],
  ["constructor", []],
])("under the feature %s we may do %j", (feature, allowed) => {
  for (const lists of [
    { readerFeatures: [feature], writerFeatures: [feature] },
    { readerFeatures: [], writerFeatures: [feature] },
    { readerFeatures: [feature] },
  ]) {
    const protocol = { minReaderVersion: 3, minWriterVersion: 7, ...lists };
    for (const work of works) {
      const obstacles = allowed.includes(work) ? [] : [`table feature ${feature}`];
      expect(protocolObstacles(protocol, work), work).toEqual(obstacles);
      expect(protocolObstacles(protocol, work, [feature]), work).toEqual([]);
    }
  }
});

test.each([
  [1, 2, []],
  [2, 6, []],
  [3, 7, []],
  [4, 7, ["minReaderVersion 4"]],
  [3, 8, ["minWriterVersion 8"]],
  [9, 9, ["minReaderVersion 9", "minWriterVersion 9"]],
])("reader %i and writer %i leave %j in the way", (minReaderVersion, minWriterVersion, obstacles) => {
  for (const work of works) {
    expect(protocolObstacles({ minReaderVersion, minWriterVersion }, work)).toEqual(obstacles);
  }
});
