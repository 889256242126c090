"""their_tables.py JARS FOLDER: Spark makes of a table what it can; Deltacap appends to it and Spark reads all rows, or refuses it by name.

Every table begins with two captures by Deltacap, so that it has the columns of `packets`; then come Spark's statements.
"""
import glob
import os
import sys
import traceback

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deletion_vectors import DeletionVectors
from session import Deltacap, Report, spark_session

# Statements on {t}, and what the refusal must name: None where the append must succeed.
ALTER = "ALTER TABLE {t} SET TBLPROPERTIES "
TABLES = {
    "made anew by Spark": (
        ["CREATE OR REPLACE TABLE {t} USING delta PARTITIONED BY (date) AS SELECT * FROM {t}"],
        None,
    ),
    "optimized": (["OPTIMIZE {t}"], None),
    "rows deleted by copy on write": (["DELETE FROM {t} WHERE packet_number = 3"], None),
    "rows deleted by deletion vectors": (
        [ALTER + "('delta.enableDeletionVectors' = 'true')", "DELETE FROM {t} WHERE packet_number = 3"],
        None,
    ),
    "append-only": ([ALTER + "('delta.appendOnly' = 'true')"], None),
    "change data feed": (
        [ALTER + "('delta.enableChangeDataFeed' = 'true')", "DELETE FROM {t} WHERE packet_number = 3"],
        None,
    ),
    "domain metadata": ([ALTER + "('delta.feature.domainMetadata' = 'supported')"], None),
    "vacuum protocol check": ([ALTER + "('delta.feature.vacuumProtocolCheck' = 'supported')"], None),
    "a widened column": (
        [
            ALTER + "('delta.enableTypeWidening' = 'true')",
            "ALTER TABLE {t} ALTER COLUMN vlan_id TYPE BIGINT",
            "ALTER TABLE {t} ALTER COLUMN can_length TYPE BIGINT",
        ],
        None,
    ),
    "columns of another writer": (
        [
            ALTER + "('delta.feature.timestampNtz' = 'supported')",
            "ALTER TABLE {t} ADD COLUMNS (noted_at TIMESTAMP_NTZ, note STRING)",
            "UPDATE {t} SET note = 'x'",
        ],
        None,
    ),
    "column mapping": (
        [ALTER + "('delta.columnMapping.mode' = 'name')"],
        "delta.columnMapping.mode = name",
    ),
    "a CHECK constraint": (
        ["ALTER TABLE {t} ADD CONSTRAINT numbered CHECK (packet_number > 0)"],
        "CHECK constraint numbered",
    ),
    "row tracking": ([ALTER + "('delta.enableRowTracking' = 'true')"], "table feature rowTracking"),
    "in-commit timestamps": (
        [ALTER + "('delta.enableInCommitTimestamps' = 'true')"],
        "delta.enableInCommitTimestamps = true",
    ),
    "a default value": (
        [
            ALTER + "('delta.feature.allowColumnDefaults' = 'supported')",
            "ALTER TABLE {t} ALTER COLUMN vehicle_id SET DEFAULT 'nobody'",
        ],
        "default value of column vehicle_id",
    ),
    "a column changed to another type": (
        [
            "CREATE OR REPLACE TABLE {t} USING delta PARTITIONED BY (date) AS SELECT * EXCEPT (vlan_id), string(vlan_id) AS vlan_id FROM {t}"
        ],
        'vlan_id "string"',
    ),
    "another partitioning": (
        ["CREATE OR REPLACE TABLE {t} USING delta PARTITIONED BY (vehicle_id) AS SELECT * FROM {t}"],
        "partitioned by [vehicle_id]",
    ),
    "clustering": (
        ["CREATE OR REPLACE TABLE {t} USING delta CLUSTER BY (capture, vehicle_id) AS SELECT * FROM {t}"],
        "table feature clustering",
    ),
}

# Checkpoints of the forms that Spark writes: properties of the table, settings of the session.
V2 = "('delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '1')"
PART = "spark.databricks.delta.checkpoint.partSize"
FORMAT = "spark.databricks.delta.checkpointV2.topLevelFileFormat"
CHECKPOINTS = {
    "classic": ("('delta.checkpointInterval' = '1')", {}, "[0-9].checkpoint.parquet"),
    "multi-part": ("('delta.checkpointInterval' = '1')", {PART: "2"}, ".checkpoint.0000000001.*.parquet"),
    "V2 in JSON": (V2, {FORMAT: "json", PART: "2"}, ".checkpoint.*-*.json"),
    "V2 in Parquet": (V2, {FORMAT: "parquet", PART: "2"}, ".checkpoint.*-*.parquet"),
}

SUMS = "count(1), coalesce(sum(captured_length), 0), count(can_id), coalesce(sum(octet_length(frame)), 0)"


class Tables:
    def __init__(self, jars: str, folder: str):
        self.spark = spark_session(jars)
        self.deltacap = Deltacap(os.getcwd())
        self.report = Report()
        self.folder = folder

    def sums(self, path: str, where: str = "true") -> tuple:
        row = self.spark.sql(f"SELECT {SUMS} FROM delta.`{path}` WHERE {where}").collect()[0]
        return tuple(int(value) for value in row)

    def ingest(self, path: str, name: str, **more) -> tuple:
        answer = self.deltacap.ingest(path, name, **more)
        if answer["outcome"] != "committed":
            raise RuntimeError(f"{name} into {path}: {answer}")
        content = answer["content"]
        return (content["rows"], content["bytes"], content["can_rows"], content["bytes"])

    def begun(self, name: str) -> tuple:
        """A table of two captures, and what is in it."""
        path = os.path.join(self.folder, name.replace(" ", "_"))
        first = self.ingest(path, "first")
        second = self.ingest(path, "second", day="2026-01-03", vehicle="v2")
        return path, tuple(a + b for a, b in zip(first, second))

    def altered(self, name: str, statements: list, refusal) -> None:
        path, _ = self.begun(name)
        for statement in statements:
            self.spark.sql(statement.format(t=f"delta.`{path}`"))
        before = self.sums(path)
        files = everything_in(path)
        if refusal is None:
            self.append_is_read(name, path, before)
            return
        answer = self.deltacap.ingest(path, "third")
        self.report.equal(f"{name}: outcome", answer["outcome"], "refused")
        self.report.equal(f"{name}: {answer.get('reason')}", refusal in answer.get("reason", ""), True)
        self.report.equal(f"{name}: files written", everything_in(path) - files, set())

    def with_vectors(self, name: str) -> None:
        DeletionVectors(self.spark, self.deltacap, self.report, os.path.join(self.folder, name.replace(" ", "_"))).check()

    def append_is_read(self, name: str, path: str, before: tuple) -> None:
        files = everything_in(path)
        added = self.ingest(path, "third")
        written = [file for file in everything_in(path) - files if file.endswith(".parquet")]
        after = tuple(a + b for a, b in zip(before, added))
        self.report.equal(f"{name}: Spark's sums", self.sums(path), after)
        where = "capture LIKE '%third%'"
        self.report.equal(f"{name}: Spark's sums of the third capture", self.sums(path, where), added)
        # Columns that may have been widened since, as they are in our files.
        ours = pa.concat_tables([pq.ParquetFile(file).read(columns=["vlan_id", "can_length"]) for file in written])
        in_files = tuple(pc.sum(ours[column]).as_py() for column in ("vlan_id", "can_length"))
        query = f"SELECT sum(vlan_id), sum(can_length) FROM delta.`{path}` WHERE {where}"
        self.report.equal(f"{name}: small numbers", tuple(self.spark.sql(query).collect()[0]), in_files)
        if name == "append-only":
            return
        # And Spark writes on: it deletes from our file, by whichever way the table has.
        self.spark.sql(f"DELETE FROM delta.`{path}` WHERE {where} AND packet_number <= 10")
        self.report.equal(f"{name}: rows after Spark's DELETE", self.sums(path)[0], after[0] - 10)

    def checkpointed(self, name: str, properties: str, settings: dict, pattern: str) -> None:
        path, _ = self.begun(f"checkpoint {name}")
        for key, value in settings.items():
            self.spark.conf.set(key, value)
        # Spark writes the checkpoint of version 4 at the latest, the deletion.
        self.spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES {properties}")
        self.spark.sql(f"DELETE FROM delta.`{path}` WHERE packet_number = 60")
        for key in settings:
            self.spark.conf.unset(key)
        log = os.path.join(path, "_delta_log")
        found = glob.glob(os.path.join(glob.escape(log), f"*{pattern}"))
        self.report.equal(f"{name}: Spark wrote such checkpoints", len(found) > 0, True)
        before = self.sums(path)
        # The checkpoint is all there is to know the table by. Deltacap's ledger has seen version 2.
        for version in range(3):
            os.remove(os.path.join(log, f"{version:020}.json"))
        os.remove(os.path.join(log, "_last_checkpoint"))
        self.append_is_read(name, path, before)


def everything_in(path: str) -> set:
    """All files, data and log."""
    return {f for f in glob.glob(os.path.join(glob.escape(path), "**"), recursive=True) if os.path.isfile(f)}


def main(jars: str, folder: str) -> None:
    tables = Tables(jars, folder)
    tables.report.note("Spark is up")
    todo = [(name, tables.altered, arguments) for name, arguments in TABLES.items()]
    todo += [(name, tables.checkpointed, arguments) for name, arguments in CHECKPOINTS.items()]
    todo += [("files with deletion vectors", tables.with_vectors, ())]
    only = os.environ.get("ONLY")
    for name, check, arguments in todo:
        if only is not None and not any(part in name for part in only.split(",")):
            continue
        try:
            check(name, *arguments)
        except Exception as error:
            traceback.print_exc(limit=4)
            tables.report.equal(f"{name}: {str(error)[:2000]}", "an error", "none")
        tables.report.note(name)
    tables.deltacap.close()
    tables.spark.stop()
    tables.report.finish("tables that Spark changed")


if __name__ == "__main__":
    main(*sys.argv[1:])
