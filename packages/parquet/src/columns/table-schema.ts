/** Column types, in the words of the Delta protocol ("Primitive Types"). `date` occurs as the partition column only. */
export type ColumnType = "date" | "string" | "long" | "integer" | "boolean" | "timestamp" | "binary";

/** One column of a table; everything about a column is said here once. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: ColumnType;
  /** What it means, for `docs/table.md` and the Delta schema's comment. */
  readonly meaning: string;
  /** Bounds go into Parquet and Delta statistics: worth it where a query filters by the column. */
  readonly statistics: boolean;
}

/** A table: its columns in order, and the one it is partitioned by. */
export interface TableSchema {
  readonly name: string;
  readonly partitionColumn: string;
  /** Columns by which a table is recognised as one of this schema. Every version of the schema has had them. */
  readonly identity: readonly string[];
  readonly columns: readonly ColumnDefinition[];
}
