"""our_tables.py JARS FOLDER: Spark, deltalake, DuckDB and pyarrow agree on a table that Deltacap wrote, at every stage of its life.

The stages: appended (odd paths, a null partition, dates before 1970, a schema that grew), checkpointed with its early log gone,
optimized, a vehicle forgotten, vacuumed. At each, full scans give the same counts and sums in all engines; filters give the same, and
Spark and deltalake, which tell how many files they read, read those that hold a matching value and no other. DELTACAP_DELTA_RS_PYTHON
names an environment with an older deltalake.
"""
import glob
import os
import sys
import traceback

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from filters import Filter, OtherDeltalake, files_of_filter, sums_of
from session import Deltacap, Report, spark_session

from read_table import answers_of, files_of  # session.py has added the folder

# Not `%20`: delta-rs 1.6.6 decodes a folder's own name.
ODD_NAME = "odd ä 5% +&=$ table"
ODD_VEHICLE = "v ü%2F+&=$"
VEHICLES = ["v1", "v2", ODD_VEHICLE]
FORGOTTEN = "v2"
DAYS = ["1900-01-01", "1969-12-31", "1970-01-01", "2026-01-02", "2026-01-03"]


FILTERS = [
    Filter("date", "2026-01-03", "2026-01-03", "DATE"),
    Filter("date", None, None),
    Filter("date", "1800-01-01", "1969-12-31", "DATE"),
    Filter("vehicle_id", ODD_VEHICLE, ODD_VEHICLE),
    Filter("vehicle_id", FORGOTTEN, FORGOTTEN),
    Filter("ts", "2026-01-02T00:00:58.5Z", "2026-01-03T00:00:00.5Z", "TIMESTAMP"),
    Filter("ts", "1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z", "TIMESTAMP"),
    Filter("ts", "1969-12-31T00:00:10.5Z", "1969-12-31T23:59:59.999999Z", "TIMESTAMP"),
    # The very microseconds of a first and of a last packet: bounds are whole milliseconds.
    Filter("ts", "1900-01-01T00:00:00.123456Z", "1900-01-01T00:00:00.123456Z", "TIMESTAMP"),
    Filter("ts", "1969-12-31T00:00:59.123456Z", "1969-12-31T00:00:59.123456Z", "TIMESTAMP"),
    Filter("packet_number", 61, 1000),
    Filter("link_type", 200, 300),
    Filter("original_length", 1400, 9000),
]


class Table:
    def __init__(self, jars: str, folder: str):
        self.spark = spark_session(jars)
        self.deltacap = Deltacap(os.getcwd())
        self.report = Report()
        self.path = os.path.join(folder, ODD_NAME)
        self.rows = {vehicle: 0 for vehicle in VEHICLES}
        python = os.environ.get("DELTACAP_DELTA_RS_PYTHON")
        self.older = None if python is None else OtherDeltalake(python)
        self.report.note("no older deltalake: skipped" if self.older is None else f"deltalake {deltalake.__version__} and {self.older.version}")

    def ordered(self, outcome, **order) -> None:
        answer = self.deltacap.order(**order)
        self.report.equal(f"{order}: {answer}", answer.get("outcome", answer.get("exit")), outcome)

    def ingested(self, name: str, **more) -> None:
        answer = self.deltacap.ingest(self.path, name, **more)
        self.report.equal(f"{name}: {answer}", answer["outcome"], "committed")
        self.rows[more["vehicle"]] += answer["content"]["rows"]

    def forgotten(self) -> None:
        self.report.equal("files that hold rows of the vehicle to forget", len(self.files_with(FORGOTTEN)) > 0, True)
        self.ordered(0, run=["forget", self.path, "--vehicle", FORGOTTEN])
        self.rows[FORGOTTEN] = 0

    def files_with(self, vehicle: str) -> list:
        """Of all that lie in the table's folder, live or not."""
        found = glob.glob(os.path.join(glob.escape(self.path), "date=*", "*.parquet"))
        return [file for file in found if pc.any(pc.equal(pq.ParquetFile(file).read(["vehicle_id"])["vehicle_id"], vehicle)).as_py()]

    def agree(self, stage: str) -> None:
        answers = answers_of(self.path)
        expected = next(iter(answers.values()))
        answers["Spark"] = self.spark_sums()
        older = None if self.older is None else self.older.answer(self.path, FILTERS)
        if older is not None:
            answers[f"deltalake {self.older.version}"] = older["sums"]
        self.report.equal(f"{stage}: rows", expected["rows"], sum(self.rows.values()))
        for engine, sums in answers.items():
            wrong = {key: (sums.get(key), value) for key, value in expected.items() if sums.get(key) != value}
            self.report.equal(f"{stage}: {engine}: (found, expected)", wrong, {})
        for i, chosen in enumerate(FILTERS):
            try:
                self.filter_agrees(stage, chosen, older and older["filters"][i])
            except Exception as error:
                traceback.print_exc(limit=4)
                self.report.equal(f"{stage}: {chosen.sql()}: {error}", "an error", "none")
        self.report.note(f"{stage}: {expected['rows']} rows, {len(expected)} figures in {len(answers)} engines")

    def spark_sums(self) -> dict:
        frame = self.spark.read.format("delta").load(self.path)
        parts = {"rows": "count(1)"}
        for field in frame.schema:
            name, kind = field.name, field.dataType.typeName()
            parts[f"count({name})"] = f"count({name})"
            value = {
                "string": f"octet_length({name})",
                "binary": f"octet_length({name})",
                "timestamp": f"unix_micros({name})",
                "date": None,
            }.get(kind, f"cast({name} AS BIGINT)")
            if value is not None:
                parts[f"sum({name})"] = f"coalesce(sum(cast({value} AS DECIMAL(38, 0))), 0)"
        row = frame.selectExpr(*[f"{value} AS `{key}`" for key, value in parts.items()]).collect()[0]
        return {key: int(row[key]) for key in parts}

    def filter_agrees(self, stage: str, chosen: Filter, older: list | None) -> None:
        what = f"{stage}: {chosen.sql()}"
        table = deltalake.DeltaTable(self.path)
        dataset = table.to_pyarrow_dataset()
        files = files_of(table)
        needed = [file for file in files if may_match(file, chosen, dataset.schema)]
        expected = sums_of(dataset, chosen)
        if stage in ("appended", "checkpointed"):
            self.report.equal(f"{what}: needs fewer files than there are", len(needed) < len(files), True)
        if older is not None:
            self.report.equal(f"{what}: deltalake {self.older.version}: rows, sum, files", tuple(older), (*expected, len(needed)))
        # By the paths' dates and the files' own statistics, without Delta's.
        parts = ds.partitioning(pa.schema([("date", pa.date32())]), flavor="hive")
        alone = ds.dataset(files, schema=dataset.schema, partitioning=parts, partition_base_dir=self.path)
        self.report.equal(f"{what}: pyarrow", sums_of(alone, chosen), expected)
        self.report.equal(f"{what}: DuckDB", self.duckdb_sums(files, chosen), expected)
        self.report.equal(f"{what}: files that deltalake reads", files_of_filter(dataset, chosen), len(needed))
        frame = self.spark.sql(f"SELECT captured_length FROM delta.`{self.path}` WHERE {chosen.sql()}")
        frame = frame.selectExpr("count(1)", "coalesce(sum(captured_length), 0)")
        self.report.equal(f"{what}: Spark", tuple(frame.collect()[0]), expected)
        self.report.equal(f"{what}: files that Spark reads", files_read(frame), len(needed))

    def duckdb_sums(self, files: list, chosen: Filter) -> tuple:
        source = f"read_parquet({files!r}, union_by_name=true, hive_partitioning=true, hive_types={{'date': VARCHAR}})"
        dates = "nullif(date, '__HIVE_DEFAULT_PARTITION__')::DATE AS date"
        condition = chosen.sql().replace("TIMESTAMP '", "TIMESTAMPTZ '")
        query = f"SELECT count(*), coalesce(sum(captured_length), 0) FROM (SELECT * REPLACE ({dates}) FROM {source}) WHERE {condition}"
        return tuple(int(value) for value in duckdb.connect().execute(query).fetchall()[0])


def files_read(frame) -> int:
    """What the scan of a query that was run says of itself."""
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    return sum(int(leaves.apply(i).metrics().apply("numFiles").value()) for i in range(leaves.size()))


def may_match(file: str, chosen: Filter, schema: pa.Schema) -> bool:
    """Whether the filter's interval and the file's values overlap, by the values themselves."""
    if chosen.column == "date":
        day = file.rsplit("date=", 1)[1].split("/")[0]
        if chosen.low is None or day == "__HIVE_DEFAULT_PARTITION__":
            return chosen.low is None and day == "__HIVE_DEFAULT_PARTITION__"
        return chosen.low <= day <= chosen.high
    column = pq.ParquetFile(file).read(columns=[chosen.column])[chosen.column]
    column = column.cast(chosen.scalar_type(schema))
    low, high = (pa.scalar(value).cast(column.type) for value in (chosen.low, chosen.high))
    bounds = pc.min_max(column)
    if bounds["min"].as_py() is None:
        return False
    return bounds["min"].as_py() <= high.as_py() and bounds["max"].as_py() >= low.as_py()


def main(jars: str, folder: str) -> None:
    table = Table(jars, folder)
    try:
        table.ordered("committed", create=table.path, columns=64)
        for day in DAYS:
            for vehicle in VEHICLES:
                for part in (1, 2):
                    packets = 80 if vehicle == "v2" and part == 2 else 60
                    table.ingested(f"{vehicle} {day} {part}", day=day, vehicle=vehicle, packets=packets)
        table.ingested("untimed", vehicle=ODD_VEHICLE, untimed=60)
        table.agree("appended")
        table.ordered(0, run=["checkpoint", table.path])
        table.ingested("after the checkpoint", vehicle="v1")
        for file in sorted(glob.glob(os.path.join(glob.escape(table.path), "_delta_log", "0*.json")))[:-1]:
            os.rename(file, file + ".gone")
        table.agree("checkpointed")
        for file in glob.glob(os.path.join(glob.escape(table.path), "_delta_log", "*.gone")):
            os.rename(file, file[: -len(".gone")])
        table.ordered(0, run=["optimize", table.path])
        table.ordered(0, run=["checkpoint", table.path])
        table.agree("optimized")
        table.forgotten()
        table.agree("forgotten")
        table.ordered(0, run=["vacuum", table.path, "--delete", "--retention-hours", "0", "--allow-short-retention"])
        table.ingested("after the vacuum", vehicle="v1")
        table.agree("vacuumed")
        table.report.equal("vacuumed: files that hold rows of the forgotten vehicle", table.files_with(FORGOTTEN), [])
    except Exception as error:
        traceback.print_exc(limit=4)
        table.report.equal(str(error)[:2000], "an error", "none")
    table.deltacap.close()
    if table.older is not None:
        table.older.close()
    table.spark.stop()
    table.report.finish("tables that Deltacap wrote")


if __name__ == "__main__":
    main(*sys.argv[1:])
