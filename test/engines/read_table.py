"""read_table.py TABLE...: pyarrow, delta-rs and DuckDB must read the same rows and column sums from a table, and from all of several.

Each engine gives the row count, the count of non-null values of every column, and the sum of every number; frames and texts
are compared by the sum of their lengths. Differences are printed; the exit code is 1 when there is one.
"""
import sys
from urllib.parse import unquote

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from leave import leave


def arrow_sums(table: pa.Table) -> dict:
    sums = {"rows": table.num_rows}
    for name in table.schema.names:
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = pc.cast(column, column.type.value_type)
        sums[f"count({name})"] = len(column) - column.null_count
        if pa.types.is_integer(column.type):
            sums[f"sum({name})"] = pc.sum(pc.cast(column, pa.int64())).as_py() or 0
        elif pa.types.is_boolean(column.type):
            sums[f"sum({name})"] = pc.sum(pc.cast(column, pa.int64())).as_py() or 0
        elif pa.types.is_timestamp(column.type):
            sums[f"sum({name})"] = sum(v for v in pc.cast(column, pa.int64()).to_pylist() if v is not None)
        elif pa.types.is_binary(column.type) or pa.types.is_string(column.type):
            sums[f"sum({name})"] = pc.sum(pc.cast(pc.binary_length(column), pa.int64())).as_py() or 0
    return sums


def duckdb_sums(files: list, schema: pa.Schema) -> dict:
    # Here, since environments of other deltalakes have no DuckDB.
    import duckdb

    parts = ["count(*)"]
    keys = ["rows"]
    for field in schema:
        name, kind = field.name, field.type
        keys.append(f"count({name})")
        parts.append(f"count({name})")
        if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
            value = f"{name}::BIGINT"
        elif pa.types.is_timestamp(kind):
            value = f"epoch_us({name})"
        elif pa.types.is_binary(kind):
            value = f"octet_length({name})"
        elif pa.types.is_string(kind):
            value = f"octet_length(encode({name}))"
        else:
            continue
        keys.append(f"sum({name})")
        parts.append(f"coalesce(sum(({value})::HUGEINT), 0)::VARCHAR")
    source = f"read_parquet({files!r}, union_by_name=true, hive_partitioning=true, hive_types={{'date': VARCHAR}})"
    dates = "nullif(date, '__HIVE_DEFAULT_PARTITION__')"
    query = f"SELECT {', '.join(parts)} FROM (SELECT * REPLACE ({dates} AS date) FROM {source})"
    row = duckdb.connect().execute(query).fetchall()[0]
    return {key: int(value) for key, value in zip(keys, row)}


# When the rows were made differs from run to run.
RUN_DEPENDENT = {"sum(ingested_at)"}


def files_of(table: deltalake.DeltaTable) -> list:
    """Paths of a local table's live files, which delta-rs gives percent-encoded."""
    return [unquote(uri) for uri in table.file_uris()]


def answers_of(path: str) -> dict:
    table = deltalake.DeltaTable(path)
    files = files_of(table)
    by_delta_rs = table.to_pyarrow_table()
    schema = by_delta_rs.schema
    parts = ds.partitioning(pa.schema([("date", pa.date32())]), flavor="hive")
    by_pyarrow = ds.dataset(files, schema=schema, partitioning=parts, partition_base_dir=path).to_table()
    return {
        f"delta-rs on {path}": arrow_sums(by_delta_rs),
        f"pyarrow on {path}": arrow_sums(by_pyarrow),
        f"DuckDB on {path}": duckdb_sums(files, schema),
    }


def main() -> int:
    answers = {}
    wrong = 0
    for path in sys.argv[1:]:
        of_table = answers_of(path)
        first = next(iter(of_table.values()))
        wrong += differences(of_table, first, set())
        answers.update(of_table)
    expected = next(iter(answers.values()))
    wrong += differences(answers, expected, RUN_DEPENDENT)
    print(f"note: {expected['rows']} rows, {len(expected)} figures compared in {len(answers)} answers")
    return 1 if wrong or expected["rows"] == 0 else 0


def differences(answers: dict, expected: dict, leave_out: set) -> int:
    wrong = 0
    for engine, sums in answers.items():
        for key, value in expected.items():
            if key not in leave_out and sums.get(key) != value:
                wrong += 1
                print(f"{engine} says {key} = {sums.get(key)}, expected {value}")
    return wrong


if __name__ == "__main__":
    leave(main())
