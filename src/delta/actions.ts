/** The actions of a Delta commit that we read or write (Delta protocol, "Actions"); fields that we do not use are left out. */
export interface Protocol {
  readonly minReaderVersion: number;
  readonly minWriterVersion: number;
  readonly readerFeatures?: readonly string[];
  readonly writerFeatures?: readonly string[];
}

export interface Metadata {
  readonly id: string;
  readonly name?: string;
  readonly format: { readonly provider: string; readonly options: Readonly<Record<string, string>> };
  readonly schemaString: string;
  readonly partitionColumns: readonly string[];
  readonly configuration: Readonly<Record<string, string>>;
  readonly createdTime?: number;
}

export interface Add {
  /** Relative to the table, percent-encoded once. */
  readonly path: string;
  readonly partitionValues: Readonly<Record<string, string | null>>;
  readonly size: number;
  readonly modificationTime: number;
  readonly dataChange: boolean;
  /** A JSON string, kept as it is. */
  readonly stats?: string;
  readonly deletionVector?: unknown;
}

export interface Remove {
  readonly path: string;
  readonly deletionTimestamp?: number;
  readonly dataChange: boolean;
}

export interface CommitInfo {
  readonly timestamp?: number;
  readonly operation?: string;
  readonly engineInfo?: string;
  readonly txnId?: string;
  readonly isBlindAppend?: boolean;
  readonly operationMetrics?: Readonly<Record<string, string>>;
  readonly tags?: Readonly<Record<string, string>>;
}

/** One line of a commit: exactly one of these is set, or none for an action that we do not know. */
export interface Action {
  readonly protocol?: Protocol;
  readonly metaData?: Metadata;
  readonly add?: Add;
  readonly remove?: Remove;
  readonly commitInfo?: CommitInfo;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Actions of a commit file, one JSON object a line. Throws an error that names the line for anything else. */
export function parseActions(body: Uint8Array, file: string): Action[] {
  const actions: Action[] = [];
  const lines = utf8.decode(body).split("\n");
  lines.forEach((line, i) => {
    if (line.trim() === "") return;
    let action: unknown;
    try {
      action = JSON.parse(line);
    } catch (error) {
      throw new Error(`line ${i + 1} of ${file} is no JSON object: ${line.slice(0, 80)}`, { cause: error });
    }
    if (typeof action !== "object" || action === null) {
      throw new Error(`line ${i + 1} of ${file} is no JSON object: ${line.slice(0, 80)}`);
    }
    actions.push(action as Action);
  });
  return actions;
}

const encoder = new TextEncoder();

/** A commit file's bytes. */
export function serializeActions(actions: readonly Action[]): Uint8Array {
  return encoder.encode(`${actions.map((action) => JSON.stringify(action)).join("\n")}\n`);
}
