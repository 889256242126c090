"""Files in every combination of page version, codec and encoding, by pyarrow and DuckDB, and beside them the rows that they hold.

Usage: encodings.py FOLDER. compare.ts reads them."""

import itertools
import json
import random
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 3000
folder = sys.argv[1]
random.seed(3)


def maybe(value):
    return None if random.random() < 0.2 else value


def column(value, type=None):
    return pa.array([maybe(value(i)) for i in range(ROWS)], type)


def some(most):
    return range(random.randint(0, most))


columns = {
    "boolean": column(lambda _: random.random() < 0.5, pa.bool_()),
    "integer": column(lambda _: random.randint(-(2**31), 2**31 - 1), pa.int32()),
    "required": pa.array([random.randint(0, 5) for _ in range(ROWS)], pa.int32()),
    "long": column(lambda _: random.randint(-(2**63), 2**63 - 1), pa.int64()),
    "sequence": pa.array(range(ROWS), pa.int64()),
    "float": column(lambda _: random.random(), pa.float32()),
    "double": column(lambda _: random.random(), pa.float64()),
    "few": column(lambda _: f"tęxt{random.randint(0, 50)}", pa.string()),
    "prefix": column(lambda _: f"prefix/long/{random.getrandbits(32):08x}", pa.string()),
    "binary": column(lambda _: random.randbytes(random.randint(0, 9)), pa.binary()),
    "fixed": column(lambda _: random.randbytes(7), pa.binary(7)),
    "nulls": pa.array([None] * ROWS, pa.string()),
    "struct": column(lambda i: {"a": maybe(i), "b": {"c": maybe(str(i)), "e": maybe({"f": i})}}),
    "list": column(lambda _: [maybe(i) for i in some(4)], pa.list_(pa.int32())),
    "lists": column(
        lambda _: [maybe([maybe(str(i)) for i in some(3)]) for _ in some(4)], pa.list_(pa.list_(pa.string()))
    ),
    "structs": column(
        lambda _: [maybe({"k": maybe(i), "v": [i] * i}) for i in some(3)],
        pa.list_(pa.struct([("k", pa.int32()), ("v", pa.list_(pa.int32()))])),
    ),
    "map": column(lambda _: [(f"k{i}", maybe(f"v{i}")) for i in some(3)], pa.map_(pa.string(), pa.string())),
    "map_of_structs": column(
        lambda _: [(f"k{i}", maybe({"q": maybe(i)})) for i in some(3)],
        pa.map_(pa.string(), pa.struct([("q", pa.int32())])),
    ),
}
table = pa.table(columns)
is_map = {field.name: pa.types.is_map(field.type) for field in table.schema}


def in_json(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {key: in_json(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        if value and isinstance(value[0], tuple):
            return {key: in_json(member) for key, member in value}
        return [in_json(item) for item in value]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


rows = [
    {name: {} if is_map[name] and value == [] else in_json(value) for name, value in row.items() if value is not None}
    for row in table.to_pylist()
]
with open(f"{folder}/rows.json", "w") as file:
    json.dump(rows, file)

names = itertools.count()
versions = ["1.0", "2.0"]
codecs = ["NONE", "SNAPPY", "GZIP", "ZSTD", "BROTLI", "LZ4"]
for version, codec, dictionary, page in itertools.product(versions, codecs, [True, False], [1000, 100_000]):
    pq.write_table(
        table,
        f"{folder}/{next(names)}-pyarrow.parquet",
        data_page_version=version,
        compression=codec,
        use_dictionary=dictionary,
        data_page_size=page,
        row_group_size=1100,
    )
encodings = {
    **{name: "DELTA_BINARY_PACKED" for name in ["integer", "required", "long", "sequence"]},
    **{name: "BYTE_STREAM_SPLIT" for name in ["float", "double"]},
    **{name: "DELTA_BYTE_ARRAY" for name in ["prefix", "binary", "fixed"]},
    "few": "DELTA_LENGTH_BYTE_ARRAY",
    "boolean": "RLE",
}
streams = {name: "BYTE_STREAM_SPLIT" for name in ["integer", "long", "fixed"]}
for version, codec, more in itertools.product(versions, ["NONE", "ZSTD"], [{}, streams]):
    pq.write_table(
        table,
        f"{folder}/{next(names)}-pyarrow-encodings.parquet",
        data_page_version=version,
        compression=codec,
        use_dictionary=False,
        column_encoding={**encodings, **more},
        data_page_size=2000,
        row_group_size=1100,
    )
duckdb.register("written", table)
for codec, version in itertools.product(["snappy", "zstd", "uncompressed", "gzip", "brotli", "lz4_raw"], ["V1", "V2"]):
    file = f"{folder}/{next(names)}-duckdb.parquet"
    duckdb.execute(
        f"copy written to '{file}' (format parquet, codec '{codec}', parquet_version '{version}', row_group_size 2048)"
    )
