"""random_tables.py JARS FOLDER: Spark reads the tables of test/support/parquet/write-random-tables.ts: values and nulls, and counts with filters.

Filters are pushed down to Spark's Parquet reader, which leaves out row groups and pages by the statistics. Spark tells how many rows the
scan gave: none from a row group whose values exclude the filter, where the column has bounds.
"""
import json
import os
import pathlib
import random
import sys
import traceback

import pyarrow as pa
from session import Report, spark_session

SEED = int(os.environ.get("DELTACAP_SEED", "20261130"))
FILTERS = 2
# Longer texts may have bounds that are cut, or none above.
LONGEST_BOUND = 256


def value_of(kind: str, value):
    if value is None:
        return None
    if kind in ("long", "timestamp"):
        return int(value)
    return bytes.fromhex(value) if kind == "binary" else value


def ordered(kind: str, value):
    return value.encode() if kind == "string" else value


def literal(kind: str, value) -> str:
    if kind == "string":
        return f"decode(X'{value.encode().hex()}', 'UTF-8')"
    if kind == "binary":
        return f"X'{value.hex()}'"
    if kind == "timestamp":
        return f"timestamp_micros({value}L)" if value > -(2**63) else "timestamp_micros(-9223372036854775807L - 1L)"
    if kind == "long":
        return f"{value}L" if value > -(2**63) else "(-9223372036854775807L - 1L)"
    return str(value).lower()


class RandomTables:
    def __init__(self, jars: str):
        self.random = random.Random(SEED)
        self.report = Report()
        self.report.note(f"seed {SEED} of the filters")
        self.spark = spark_session(jars)
        self.scanned = 0
        self.given = 0

    def check(self, path: pathlib.Path) -> None:
        expected = json.loads(path.with_suffix(".json").read_text())
        columns = expected["columns"]
        groups = [
            [[value_of(column["type"], value) for value in values] for column, values in zip(columns, group)] for group in expected["groups"]
        ]
        frame = self.spark.read.parquet(str(path))
        self.report.equal(f"{path.name}: columns", frame.columns, [column["name"] for column in columns])
        # A timestamp as it is in the file: of Python's only some are in the years that it knows.
        names = [f"unix_micros({c['name']})" if c["type"] == "timestamp" else c["name"] for c in columns]
        found = pa.table(frame.selectExpr(*names).toArrow())
        for i, column in enumerate(columns):
            values = [value for group in groups for value in group[i]]
            self.report.equal(f"{path.name}: {column['name']}: first difference", first_difference(found.column(i).to_pylist(), values), None)
        for _ in range(FILTERS):
            i = self.random.randrange(len(columns))
            self.filter(path.name, frame, columns[i], [group[i] for group in groups])

    def filter(self, name: str, frame, column: dict, groups: list) -> None:
        kind = column["type"]
        present = [value for group in groups for value in group if value is not None]
        bound = self.random.choice(present) if present and self.random.random() < 0.8 else None
        comparison = self.random.choice(["=", "<", ">="])
        if bound is None:
            sql, matches = f"{column['name']} IS NULL", lambda value: value is None
        else:
            sql, at = f"{column['name']} {comparison} {literal(kind, bound)}", ordered(kind, bound)
            compare = {"=": lambda v: v == at, "<": lambda v: v < at, ">=": lambda v: v >= at}[comparison]
            matches = lambda value: value is not None and compare(ordered(kind, value))
        # Its own count: an aggregate of the count alone would be answered by the footer.
        filtered = frame.where(sql).selectExpr("count(1)", f"count({column['name']})")
        expected = sum(matches(value) for group in groups for value in group)
        self.report.equal(f"{name}: {sql:.200}: rows", filtered.collect()[0][0], expected)
        given = rows_given(filtered)
        most = sum(len(group) for group in groups if self.must_read(column, group, bound, comparison))
        self.report.equal(f"{name}: {sql:.200}: the scan gives {given} rows, at most {most}", expected <= given <= most, True)
        self.scanned += sum(len(group) for group in groups)
        self.given += given

    def must_read(self, column: dict, group: list, bound, comparison: str) -> bool:
        """Whether the row group's bounds and null count allow for a match."""
        kind = column["type"]
        present = [ordered(kind, value) for value in group if value is not None]
        if bound is None:
            return len(present) < len(group)
        if not present:
            return False
        if kind in ("binary", "boolean") or (kind == "string" and not column["statistics"]):
            return True
        low, high, at = min(present), max(present), ordered(kind, bound)
        if kind == "string" and max(len(low), len(high)) > LONGEST_BOUND:
            return True
        return {"=": low <= at <= high, "<": low < at, ">=": high >= at}[comparison]


def first_difference(found: list, expected: list) -> str | None:
    if len(found) != len(expected):
        return f"{len(found)} rows instead of {len(expected)}"
    for row, (f, e) in enumerate(zip(found, expected)):
        if f != e or type(f) is not type(e):
            return f"row {row}: {f!r:.200} instead of {e!r:.200}"
    return None


def rows_given(frame) -> int:
    """By the scan of a query that was run, before Spark's own filter."""
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    return sum(int(leaves.apply(i).metrics().apply("numOutputRows").value()) for i in range(leaves.size()))


def main(jars: str, folder: str) -> None:
    tables = RandomTables(jars)
    paths = sorted(pathlib.Path(folder).glob("*.parquet"))
    for path in paths:
        try:
            tables.check(path)
        except Exception as error:
            traceback.print_exc(limit=4)
            tables.report.equal(f"{path.name}: {str(error)[:1000]}", "an error", "none")
    tables.report.note(f"{len(paths)} tables; {FILTERS} filters each, which gave {tables.given} of {tables.scanned} rows")
    tables.spark.stop()
    tables.report.finish("random tables, read by Spark")


if __name__ == "__main__":
    main(*sys.argv[1:])
