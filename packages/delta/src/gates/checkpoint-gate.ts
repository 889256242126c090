import type { Metadata, Protocol } from "../actions/actions.ts";
import { protocolObstacles } from "../actions/known-features.ts";

/**
 * Properties that decide how a checkpoint holds statistics (Delta protocol, "Checkpoints"), and the value with which it is as we
 * write it: as JSON. A checkpoint of ours on a table that wants another would lose statistics, or hold what nobody asked for.
 */
const STATISTICS_PROPERTIES = {
  "delta.checkpoint.writeStatsAsJson": "true",
  "delta.checkpoint.writeStatsAsStruct": "false",
} as const;

/** Why we cannot write this table's checkpoints, by name; empty where we can. Others' checkpoints we read all the same. */
export function checkpointObstacles(protocol: Protocol, metadata: Metadata): string[] {
  const obstacles = protocolObstacles(protocol, "state");
  for (const [property, written] of Object.entries(STATISTICS_PROPERTIES)) {
    const value = metadata.configuration[property];
    if (value !== undefined && value.toLowerCase() !== written) obstacles.push(`${property} = ${value}`);
  }
  return obstacles;
}
