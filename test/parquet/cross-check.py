"""Compares the tables of write-random-tables.ts with what pyarrow and DuckDB read: cross-check.py FOLDER.

Values, nulls, statistics, and counts with filters (which skip row groups by their statistics). Prints each
difference on a line and exits 1 when there is one.
"""

import json
import pathlib
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

ARROW_TYPES = {
    "integer": pa.int32(),
    "long": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
}


def value_of(kind, value):
    if value is None:
        return None
    if kind in ("long", "timestamp"):
        return int(value)
    return bytes.fromhex(value) if kind == "binary" else value


def values_of(array, kind):
    return (array.cast(pa.int64()) if kind == "timestamp" else array).to_pylist()


def first_difference(actual, expected):
    if len(actual) != len(expected):
        return f"{len(actual)} rows instead of {len(expected)}"
    for row, (a, e) in enumerate(zip(actual, expected)):
        if a != e or type(a) is not type(e):
            return f"row {row}: {a!r:.200} instead of {e!r:.200}"
    return None


def order(kind, value):
    return value.encode() if kind == "string" else value


def check_statistics(column, chunk, values, report):
    kind = column["type"]
    present = [value for value in values if value is not None]
    statistics = chunk.statistics
    if chunk.num_values != len(values) and statistics.num_values != len(present):
        report(f"num_values {chunk.num_values}")
    if statistics.null_count != len(values) - len(present):
        report(f"null_count {statistics.null_count} instead of {len(values) - len(present)}")
    has_bounds = bool(present) and kind != "binary" and (kind != "string" or column["statistics"])
    if not has_bounds:
        if statistics.has_min_max:
            report("bounds where there should be none")
        return
    # pyarrow gives bounds only where both are there; a string's upper bound may be missing when it was cut.
    least = min(present, key=lambda value: order(kind, value))
    greatest = max(present, key=lambda value: order(kind, value))
    is_cut = kind == "string" and max(len(least.encode()), len(greatest.encode())) > 256
    if not statistics.has_min_max:
        if not is_cut:
            report("no bounds")
        return
    # A timestamp's raw bounds are integers; min and max would be dates, which end at year 9999.
    low, high = (
        (statistics.min_raw, statistics.max_raw) if kind == "timestamp" else (statistics.min, statistics.max)
    )
    if is_cut:
        if order(kind, low) > order(kind, least) or order(kind, high) < order(kind, greatest):
            report(f"bounds {low!r} to {high!r} hide {least!r} or {greatest!r}")
    elif (low, high) != (least, greatest):
        report(f"bounds {low!r} to {high!r} instead of {least!r} to {greatest!r}")


def check_filters(path, column, values, report):
    """DuckDB leaves out the row groups whose bounds exclude the value."""
    kind = column["type"]
    present = [value for value in values if value is not None]
    if not present or kind in ("timestamp", "binary"):
        return
    for bound in (
        min(present, key=lambda value: order(kind, value)),
        max(present, key=lambda value: order(kind, value)),
        present[len(present) // 2],
    ):
        # DuckDB's parameters cannot hold a character 0.
        if kind == "string" and "\0" in bound:
            continue
        query = f'select count(*) from read_parquet($path) where "{column["name"]}" = $bound'
        ((count,),) = duckdb.sql(query, params={"path": path, "bound": bound}).fetchall()
        if count != present.count(bound):
            report(f"DuckDB finds {bound!r:.200} {count} times instead of {present.count(bound)}")


def check(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    differences = []
    file = pq.ParquetFile(path)
    table = file.read()
    duck = duckdb.sql("select * from read_parquet($path)", params={"path": str(path)}).to_arrow_table()
    metadata = file.metadata
    if metadata.num_row_groups != len(expected["groups"]):
        differences.append(f"{metadata.num_row_groups} row groups")
    for i, column in enumerate(expected["columns"]):
        name, kind = column["name"], column["type"]

        def report(text, where=""):
            differences.append(f"{name}{where}: {text}")

        if table.schema.field(name).type != ARROW_TYPES[kind]:
            report(f"type {table.schema.field(name).type}")
        groups = [[value_of(kind, value) for value in group[i]] for group in expected["groups"]]
        values = [value for group in groups for value in group]
        for reader, read in (("pyarrow", table), ("DuckDB", duck)):
            difference = first_difference(values_of(read.column(name), kind), values)
            if difference:
                report(difference, f" by {reader}")
        for g, group in enumerate(groups):
            chunk = metadata.row_group(g).column(i)
            check_statistics(column, chunk, group, lambda text: report(text, f", row group {g}"))
        check_filters(str(path), column, values, report)
    return differences


def main(folder):
    paths = sorted(pathlib.Path(folder).glob("*.parquet"))
    failed = 0
    for path in paths:
        differences = check(path)
        failed += bool(differences)
        for difference in differences:
            print(f"{path.name}: {difference}")
    print(f"{len(paths)} tables, {failed} differ")
    sys.exit(1 if failed or not paths else 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
