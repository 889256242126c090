import type { TableSchema } from "@deltacap/parquet";
import { describe, expect, test } from "vitest";
import type { Metadata } from "../../src/actions/actions.ts";
import { schemaFields, schemaUnion } from "../../src/actions/schema.ts";

const ours: TableSchema = {
  name: "t",
  partitionColumn: "date",
  identity: ["date"],
  columns: [
    { name: "date", type: "date", statistics: false, meaning: "the day" },
    { name: "n", type: "integer", statistics: true, meaning: "a number" },
  ],
};

function table(fields: readonly object[], configuration: Record<string, string> = {}): Metadata {
  return {
    id: "i",
    format: { provider: "parquet", options: {} },
    schemaString: JSON.stringify({ type: "struct", fields }),
    partitionColumns: ["date"],
    configuration,
  };
}

const field = (name: string, type: string, metadata: object = {}) => ({
  name,
  type,
  nullable: true,
  metadata,
});
const date = field("date", "date");
const changes = (...steps: object[]) => ({ "delta.typeChanges": steps });

describe("the union of the table's schema and ours", () => {
  test("is the table's when it has all our columns, whatever else it has", () => {
    const metadata = table([field("foreign", "string"), field("n", "integer"), date]);
    expect(schemaUnion(metadata, ours)).toEqual({ kind: "same" });
  });

  test("has our new columns at its end, with their statistics", () => {
    const metadata = table([date], { "delta.dataSkippingStatsColumns": "x" });
    const union = schemaUnion(metadata, ours);
    if (union.kind !== "wider") throw new Error(union.kind);
    expect(schemaFields(union.metadata.schemaString).map(({ name }) => name)).toEqual(["date", "n"]);
    expect(union.metadata.configuration).toEqual({ "delta.dataSkippingStatsColumns": "x,n" });
  });

  test.each([
    ["of another type", field("n", "long"), 'n "long" of the table is n "integer"'],
    ["of another case", field("N", "integer"), 'N "integer" of the table is n "integer"'],
    [
      "that was widened from a type that is not ours",
      field("n", "long", changes({ fromType: "short", toType: "long" })),
      'n "long"',
    ],
    [
      "in which something else was widened",
      field("n", "long", changes({ fromType: "integer", toType: "long", fieldPath: "element" })),
      'n "long"',
    ],
    ["whose type changes cannot be read", field("n", "long", { "delta.typeChanges": [null] }), 'n "long"'],
  ])("does not exist with a column %s", (_, n, named) => {
    expect(schemaUnion(table([date, n]), ours)).toMatchObject({
      kind: "conflict",
      reason: expect.stringContaining(named) as string,
    });
  });

  test("takes a column that was ours and was widened since", () => {
    const widened = field("n", "long", changes({ fromType: "integer", toType: "long" }));
    expect(schemaUnion(table([date, widened]), ours)).toEqual({ kind: "same" });
  });

  test("keeps what the table says of widened columns when it grows", () => {
    const widened = field("m", "long", changes({ fromType: "integer", toType: "long" }));
    const union = schemaUnion(table([date, widened]), ours);
    if (union.kind !== "wider") throw new Error(union.kind);
    expect(schemaFields(union.metadata.schemaString)[1]).toEqual(widened);
  });
});
