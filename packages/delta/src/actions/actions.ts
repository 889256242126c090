import { TableRefusedError } from "../errors.ts";
import { checkedFields } from "./action-shapes.ts";
import { parseJson, stringifyJson } from "./json.ts";

/**
 * The actions of a Delta commit that we read or write (Delta protocol, "Actions"). Fields that are not named here are kept
 * as they were read. A `long` beyond 2^53 is a BigInt.
 */
export interface Protocol {
  readonly minReaderVersion: number;
  readonly minWriterVersion: number;
  readonly readerFeatures?: readonly string[];
  readonly writerFeatures?: readonly string[];
}

/** The table's schema, partitioning and properties (Delta protocol, "Change Metadata"). */
export interface Metadata {
  readonly id: string;
  readonly name?: string;
  readonly format: { readonly provider: string; readonly options: Readonly<Record<string, string>> };
  readonly schemaString: string;
  readonly partitionColumns: readonly string[];
  readonly configuration: Readonly<Record<string, string>>;
  readonly createdTime?: number | bigint;
}

/** A data file that becomes part of the table (Delta protocol, "Add File and Remove File"). */
export interface Add {
  /** Relative to the table, percent-encoded once. */
  readonly path: string;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  readonly size: number;
  readonly modificationTime: number;
  readonly dataChange: boolean;
  /** A JSON string, kept as it is. */
  readonly stats?: string;
  readonly deletionVector?: DeletionVector;
}

/** Which rows of a file are deleted (Delta protocol, "Deletion Vector Descriptor Schema"). */
export interface DeletionVector {
  readonly storageType: string;
  readonly pathOrInlineDv: string;
  readonly offset?: number;
  readonly sizeInBytes?: number;
  readonly cardinality?: number | bigint;
  readonly maxRowIndex?: number | bigint;
}

/** A data file that is no longer part of the table: a tombstone until its retention has passed. */
export interface Remove {
  readonly path: string;
  readonly deletionTimestamp?: number;
  readonly dataChange: boolean;
  readonly deletionVector?: DeletionVector;
}

/** The newest version that an application has recorded for itself (Delta protocol, "Transaction Identifiers"). */
export interface Txn {
  readonly appId: string;
  readonly version: number | bigint;
  readonly lastUpdated?: number | bigint;
}

/** A file with part of a checkpoint's adds and removes; only checkpoints have it (Delta protocol, "Sidecar File Information"). */
export interface Sidecar {
  /** Percent-encoded; the file lies in `_delta_log/_sidecars`, whatever folder is named. */
  readonly path: string;
  readonly sizeInBytes: number;
}

/** What a table feature or an application keeps with the table; `removed` deletes the domain (Delta protocol, "Domain Metadata"). */
export interface DomainMetadata {
  readonly domain: string;
  readonly configuration: string;
  readonly removed: boolean;
}

/** Free-form by the protocol: other writers leave out whatever they like. */
export interface CommitInfo {
  readonly timestamp?: number;
  readonly operation?: string;
  readonly engineInfo?: string;
  readonly txnId?: string;
  readonly isBlindAppend?: boolean;
  readonly operationMetrics?: Readonly<Record<string, string>>;
  readonly tags?: Readonly<Record<string, unknown>>;
}

/** One line of a commit: exactly one of these is set, or none for an action that we do not know. */
export interface Action {
  readonly protocol?: Protocol;
  readonly metaData?: Metadata;
  readonly add?: Add;
  readonly remove?: Remove;
  readonly txn?: Txn;
  readonly domainMetadata?: DomainMetadata;
  readonly commitInfo?: CommitInfo;
  readonly sidecar?: Sidecar;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Actions of a commit file, one JSON object a line. Throws `TableRefusedError` that names file and line for anything else:
 * a log that cannot be read must not be built on.
 */
export function parseActions(body: Uint8Array, file: string): Action[] {
  let text: string;
  try {
    text = utf8.decode(body);
  } catch (error) {
    throw new TableRefusedError(`${file} in the log is no UTF-8 text; nothing was written`, { cause: error });
  }
  const actions: Action[] = [];
  text.split("\n").forEach((line, i) => {
    if (line.trim() !== "") actions.push(parseAction(line, `line ${i + 1} of ${file} in the log`));
  });
  return actions;
}

function parseAction(line: string, where: string): Action {
  let value: unknown;
  try {
    value = parseJson(line);
  } catch (error) {
    throw new TableRefusedError(`${where} is no JSON: ${shown(line)}; nothing was written`, { cause: error });
  }
  return checkedAction(value, where);
}

/** The action in `value`, which came from a commit or a checkpoint. Throws `TableRefusedError` for one that is malformed. */
export function checkedAction(value: unknown, where: string): Action {
  return checkedFields(value, where) as Action;
}

function shown(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 80)}...`;
}

const encoder = new TextEncoder();

/** A commit file's bytes. */
export function serializeActions(actions: readonly Action[]): Uint8Array {
  return encoder.encode(`${actions.map(stringifyJson).join("\n")}\n`);
}
