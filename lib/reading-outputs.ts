import { CfnOutput, Stack } from "aws-cdk-lib";
import type { ITable } from "aws-cdk-lib/aws-dynamodb";
import { CfnTable } from "aws-cdk-lib/aws-glue";
import { Construct } from "constructs";
import type { LakeTable } from "./lake-table.ts";

/** The table that readers are told about. */
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

/** Versions that Spark's packages are tried with: test/engines/spark/pom.xml names the same ones. */
const SPARK = "4.2";
const DELTA = "4.4.0";
const HADOOP = "3.5.0";
/** The log store calls DynamoDB by the first version of the SDK, which Hadoop no longer brings. */
const AWS_SDK = "1.12.797";

/** Each value is pasted as it is, so whatever must be known beside it is part of it. */
function readingStatements(scope: Construct, table: LakeTable): Record<string, Statement> {
  const { region } = Stack.of(scope);
  const spark =
    table.logTable === undefined ? readOnlySpark(table) : writingSpark(table, table.logTable, region);
  return {
    SparkSettings: spark,
    SparkRead: {
      description: `Spark, started with the options of SparkSettings`,
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
      value: `from deltalake import DeltaTable; DeltaTable("${table.uri}", storage_options={"AWS_REGION": "${region}"}).to_pyarrow_dataset() # pip install "deltalake[pyarrow]"`,
    },
  };
}

/** The settings under which Spark takes turns with the committer. Scheme and region must be the same, or both write version N. */
function writingSpark(table: LakeTable, logTable: ITable, region: string): Statement {
  const [scheme] = table.sparkUri.split(":");
  const logStore = "spark.io.delta.storage.S3DynamoDBLogStore.ddb";
  return {
    description: `Options of spark-submit and pyspark ${SPARK}, needed to read the table and to write it beside the committer. Another Spark needs its own versions of the packages`,
    value: sparkOptions(
      table,
      [`io.delta:delta-storage-s3-dynamodb:${DELTA}`, `com.amazonaws:aws-java-sdk-dynamodb:${AWS_SDK}`],
      {
        [`spark.delta.logStore.${scheme}.impl`]: "io.delta.storage.S3DynamoDBLogStore",
        [`${logStore}.tableName`]: logTable.tableName,
        [`${logStore}.region`]: region,
      },
    ),
  };
}

/**
 * Without the log store in DynamoDB, Spark puts version N without a condition. The warning is a setting of its own name: a comment would
 * be lost where the options are pasted into a form, and break shells that know no comments.
 */
function readOnlySpark(table: LakeTable): Statement {
  const why =
    "Spark must not write this table: with logStore=conditional nothing keeps it from overwriting a committed version, whose rows are lost";
  return {
    description: `Options of spark-submit and pyspark ${SPARK} to READ the table. ${why}. Deploy with logStore=dynamodb before Spark writes`,
    value: `${sparkOptions(table, [], {})} --conf "spark.deltacap.readOnly=${why}"`,
  };
}

function sparkOptions(
  table: LakeTable,
  packages: readonly string[],
  settings: Readonly<Record<string, string>>,
): string {
  const isS3 = table.sparkUri.startsWith("s3:");
  const all = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    // Hadoop itself knows s3a only.
    ...(isS3 ? { "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem" } : {}),
    ...settings,
  };
  const jars = [
    `io.delta:delta-spark_${SPARK}_2.13:${DELTA}`,
    `org.apache.hadoop:hadoop-aws:${HADOOP}`,
    ...packages,
  ];
  const options = Object.entries(all).map(([name, value]) => `--conf ${name}=${value}`);
  return [`--packages ${jars.join(",")}`, ...options].join(" ");
}
