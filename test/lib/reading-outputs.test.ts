import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { DeltacapConfiguration } from "../../lib/settings/configuration.ts";
import { printed, templateOf } from "./synthesized.ts";

type Choice = Pick<DeltacapConfiguration, "logStore" | "tableScheme">;

const choices: Choice[] = (["dynamodb", "conditional"] as const).flatMap((logStore) =>
  (["s3a", "s3"] as const).map((tableScheme) => ({ logStore, tableScheme })),
);

interface Output {
  readonly Description: string;
  readonly Value: unknown;
}

describe.each(choices)(
  "outputs with logStore=$logStore and tableScheme=$tableScheme",
  ({ logStore, tableScheme }) => {
    const outputs = templateOf({ logStore, tableScheme, tableBucket: "the-lake" }).Outputs as Record<
      string,
      Output
    >;
    const text = (name: string) => printed(outputs[name]?.Value);
    const settings = text("SparkSettings");
    const confs = new Map(
      [...settings.matchAll(/--conf (?:"([^"=]+)=([^"]*)"|([^\s="]+)=(\S+))/g)].map(
        ([, quotedName, quotedValue, name = quotedName ?? "", value = quotedValue ?? ""]) => [name, value],
      ),
    );

    test("name every package that Spark needs, with its version", () => {
      const [, packages = ""] = /^--packages (\S+) /.exec(settings) ?? [];
      const names = packages.split(",").map((coordinates) => coordinates.split(":"));
      expect(names.every(([, , version = ""]) => /^\d+\.\d+\.\d+$/.test(version))).toBe(true);
      const shared = ["delta-storage-s3-dynamodb", "aws-java-sdk-dynamodb"];
      expect(names.map(([, artifact]) => artifact)).toEqual([
        "delta-spark_4.2_2.13",
        "hadoop-aws",
        ...(logStore === "dynamodb" ? shared : []),
      ]);
    });

    test("tell Spark of the file system that a scheme needs", () => {
      expect(confs.get("spark.hadoop.fs.s3.impl")).toBe(
        tableScheme === "s3" ? "org.apache.hadoop.fs.s3a.S3AFileSystem" : undefined,
      );
      expect(text("SparkRead")).toBe(`spark.read.format("delta").load("${tableScheme}://the-lake/packets")`);
    });

    test.runIf(logStore === "dynamodb")("tell Spark of the log store that the committer uses", () => {
      expect(confs.get(`spark.delta.logStore.${tableScheme}.impl`)).toBe(
        "io.delta.storage.S3DynamoDBLogStore",
      );
      const prefix = "spark.io.delta.storage.S3DynamoDBLogStore.ddb";
      expect(confs.get(`${prefix}.tableName`)).toBe("<TableLogStore38CA1D6C>");
      expect(confs.get(`${prefix}.region`)).toBe("eu-central-1");
      expect(outputs.SparkSettings?.Description).toContain("write it beside the committer");
      expect(settings).not.toContain("must not write");
    });

    test.runIf(logStore === "conditional")(
      "say that Spark must not write, and why: pasted as printed, Spark once overwrote committed versions",
      () => {
        const { Description = "" } = outputs.SparkSettings ?? {};
        for (const said of [Description, confs.get("spark.deltacap.readOnly") ?? ""])
          expect(said).toMatch(/Spark must not write this table.*logStore=conditional.*rows are lost/);
        expect(Description).not.toMatch(/needed to .*write/);
        expect(settings).not.toMatch(/LogStore\.|dynamodb/);
        expect(text("LogTable")).toBe("none");
      },
    );

    test("of other engines name the table, the region and what must be installed", () => {
      expect(text("DuckDbStatement")).toMatch(
        /REGION 'eu-central-1'\); SELECT \* FROM delta_scan\('s3:\/\/the-lake\/packets'\)$/,
      );
      expect(text("DeltaRsStatement")).toContain('DeltaTable("s3://the-lake/packets"');
      expect(text("DeltaRsStatement")).toContain('# pip install "deltalake[pyarrow]"');
      expect(text("AthenaStatement")).toContain("LOCATION 's3://the-lake/packets/'");
    });

    test("have descriptions that CloudFormation takes", () => {
      for (const { Description = "" } of Object.values(outputs))
        expect(Description.length).toBeLessThan(1_024);
    });
  },
);

test("the versions that are printed are those that Spark is tried with in CI", () => {
  const pom = readFileSync("test/engines/spark/pom.xml", "utf8");
  const { Value } = templateOf({ logStore: "conditional" }).Outputs.SparkSettings ?? {};
  const [, delta = ""] = /delta-spark_4.2_2.13:([\d.]+)/.exec(printed(Value)) ?? [];
  expect(pom).toContain(`<artifactId>delta-spark_4.2_2.13</artifactId>\n      <version>${delta}</version>`);
});

test("README says of writing beside Spark which setting it depends on", () => {
  const [, beside = ""] =
    /\*\*Beside Spark\.\*\*([\s\S]*?)\n\n/.exec(readFileSync("README.md", "utf8")) ?? [];
  expect(beside).toMatch(/logStore=dynamodb/);
  expect(beside).toMatch(/conditional.*must not write/s);
  expect(beside).toMatch(/condition on `date`/);
});
