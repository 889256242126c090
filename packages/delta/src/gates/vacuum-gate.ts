import type { Protocol } from "../actions/actions.ts";
import { protocolObstacles } from "../actions/known-features.ts";
import { TableRefusedError } from "../errors.ts";

/** Refuses a table whose files must not be deleted by who does not know all of its features, by name. */
export function requireVacuumable(protocol: Protocol): void {
  const reasons = protocolObstacles(protocol, "state");
  if (reasons.length > 0) {
    throw new TableRefusedError(
      `which files the table needs is not known to deltacap: ${reasons.join("; ")}. Nothing was deleted; run Spark's VACUUM instead`,
    );
  }
}
