import { CfnOutput, Stack } from "aws-cdk-lib";
import { CfnTable } from "aws-cdk-lib/aws-glue";
import { Construct } from "constructs";
import type { LakeTable } from "./lake-table.ts";

export interface ReadingOutputsProps {
  readonly table: LakeTable;
  /** Glue database that `packets` is registered in; undefined: none. */
  readonly glueDatabase?: string;
}

/** What to paste into each engine that reads the table, as outputs of the stack; and the table's entry in Glue, where wanted. */
export class ReadingOutputs extends Construct {
  constructor(scope: Construct, id: string, { table, glueDatabase }: ReadingOutputsProps) {
    super(scope, id);
    for (const [name, { description, value }] of Object.entries(readingStatements(this, table))) {
      // The outputs' names are what people look for: without the construct's path before them.
      new CfnOutput(this, name, { description, value }).overrideLogicalId(name);
    }
    if (glueDatabase !== undefined) this.#register(table, glueDatabase);
  }

  /**
   * As Spark registers a Delta table: engines that know Delta read columns and partitions from the table's log, so that a
   * column which is added later needs no change here. Athena documents this form, and that `table_type` must not be set in it.
   */
  #register(table: LakeTable, databaseName: string): void {
    new CfnTable(this, "GlueTable", {
      catalogId: Stack.of(this).account,
      databaseName,
      tableInput: {
        name: "packets",
        description: "Packets of vehicles' captures, one row a packet (Deltacap)",
        tableType: "EXTERNAL_TABLE",
        parameters: { EXTERNAL: "TRUE", "spark.sql.sources.provider": "delta" },
        storageDescriptor: {
          location: table.uri,
          columns: [{ name: "col", type: "array<string>" }],
          inputFormat: "org.apache.hadoop.mapred.SequenceFileInputFormat",
          outputFormat: "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
          serdeInfo: {
            serializationLibrary: "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
            parameters: { path: `${table.uri}/`, "serialization.format": "1" },
          },
        },
      },
    });
  }
}

interface Statement {
  readonly description: string;
  readonly value: string;
}

function readingStatements(scope: Construct, table: LakeTable): Record<string, Statement> {
  const { region } = Stack.of(scope);
  return {
    SparkSettings: {
      description:
        "spark-submit options (package io.delta:delta-storage-s3-dynamodb): needed to write, harmless to read",
      value: sparkSettings(table, region),
    },
    SparkRead: {
      description: "Spark",
      value: `spark.read.format("delta").load("${table.sparkUri}")`,
    },
    AthenaStatement: {
      description: "Athena, once, in a database of yours, after the first commit; then SELECT * FROM packets",
      value: `CREATE EXTERNAL TABLE packets LOCATION '${table.uri}/' TBLPROPERTIES ('table_type' = 'DELTA')`,
    },
    DuckDbStatement: {
      description: "DuckDB",
      value: `INSTALL delta; LOAD delta; CREATE SECRET (TYPE s3, PROVIDER credential_chain, REGION '${region}'); SELECT * FROM delta_scan('${table.uri}')`,
    },
    DeltaRsStatement: {
      description: "delta-rs, Polars (Python)",
      value: `from deltalake import DeltaTable; DeltaTable("${table.uri}", storage_options={"AWS_REGION": "${region}"}).to_pyarrow_dataset()`,
    },
  };
}

/** The settings under which Spark takes turns with the committer. Scheme and region must be the same, or both write version N. */
function sparkSettings(table: LakeTable, region: string): string {
  const [scheme] = table.sparkUri.split(":");
  const settings = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    ...(table.logTable === undefined
      ? {}
      : {
          [`spark.delta.logStore.${scheme}.impl`]: "io.delta.storage.S3DynamoDBLogStore",
          "spark.io.delta.storage.S3DynamoDBLogStore.ddb.tableName": table.logTable.tableName,
          "spark.io.delta.storage.S3DynamoDBLogStore.ddb.region": region,
        }),
  };
  return Object.entries(settings)
    .map(([name, value]) => `--conf ${name}=${value}`)
    .join(" ");
}
