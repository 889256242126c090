import { TableRefusedError } from "../errors.ts";
import type { Metadata, Protocol } from "./actions.ts";
import { protocolProblem } from "./known-features.ts";

/** What the protocol requires of a metaData action, and we cannot do without. */
const REQUIRED_METADATA = ["id", "format", "schemaString", "partitionColumns", "configuration"] as const;

/**
 * The protocol and the metadata that are in force, once all of the log was read. Only these are judged as a whole: an action that
 * a later one replaced binds nobody, and some writers left parts of it out.
 *
 * Throws `TableRefusedError` where one of them is missing, or is not what the Delta protocol allows.
 */
export function requireTableState(
  protocol: Protocol | null | undefined,
  metadata: Metadata | null | undefined,
): { readonly protocol: Protocol; readonly metadata: Metadata } {
  if (!protocol || !metadata) {
    throw new TableRefusedError(
      "the log has no protocol or no metadata: it does not begin with a table's creation. Nothing was written",
    );
  }
  const problem = protocolProblem(protocol);
  if (problem !== null) throw refused(`the table's protocol ${problem}`);
  const missing = REQUIRED_METADATA.filter((field) => metadata[field] === undefined);
  if (missing.length > 0) throw refused(`the table's newest metaData lacks ${missing.join(", ")}`);
  return { protocol, metadata };
}

function refused(problem: string): TableRefusedError {
  return new TableRefusedError(
    `${problem}: the log is damaged, or its writer does not keep to Delta's protocol. Nothing was written. Restore the log from a backup`,
  );
}
