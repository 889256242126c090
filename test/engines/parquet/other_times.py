"""Files of other writers with infinite times, times before the year 1 and after 9999, and INT96.

Usage: other_times.py make TABLE     adds two such files to the table
       other_times.py compare TABLE  after OPTIMIZE, pyarrow, DuckDB and deltalake read the table, with every time as it was"""

import json
import pathlib
import sys

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

step, table = sys.argv[1], pathlib.Path(sys.argv[2])
TIMES = [2**63 - 1, -(2**63) + 1, -63_517_824_000_000_000, 253_402_300_800_000_000, 0, None]
SOON = [0, 1_767_225_600_000_000, -1]


def data(times, name):
    columns = {"source_id": [name] * len(times), "packet_number": list(range(len(times)))}
    return pa.table({**columns, "ts": pa.array(times, pa.timestamp("us", "UTC"))})


if step == "make":
    files = {"other-times.parquet": (TIMES, {}), "int96.parquet": (SOON, {"use_deprecated_int96_timestamps": True})}
    adds = []
    for name, (times, options) in files.items():
        pq.write_table(data(times, name), table / name, **options)
        size = (table / name).stat().st_size
        add = {"path": name, "partitionValues": {"date": None}, "size": size, "modificationTime": 1, "dataChange": True}
        adds.append(json.dumps({"add": add}))
    version = int(max((table / "_delta_log").glob("*.json")).stem) + 1
    commit = [json.dumps({"commitInfo": {"operation": "WRITE", "txnId": "other"}}), *adds]
    (table / "_delta_log" / f"{version:020d}.json").write_text("\n".join(commit))
else:
    names = [path for path in deltalake.DeltaTable(str(table)).file_uris() if "HIVE_DEFAULT" in path]
    assert len(names) == 1, names
    found = pq.read_table(names[0], columns=["source_id", "packet_number", "ts"])
    times = {}
    micros = found.column("ts").cast(pa.int64()).to_pylist()
    for name, number, time in zip(found.column("source_id").to_pylist(), found.column("packet_number").to_pylist(), micros):
        times.setdefault(name, {})[number] = time
    assert times["other-times.parquet"] == dict(enumerate(TIMES)), times
    assert times["int96.parquet"] == dict(enumerate(SOON)), times
    counted = duckdb.sql(f"select count(*), count(ts) from read_parquet('{names[0]}') where source_id like '%.parquet'").fetchall()
    assert counted == [(9, 8)], counted
    commits = [line for commit in (table / "_delta_log").glob("*.json") for line in commit.read_text().splitlines()]
    adds = [json.loads(line)["add"] for line in commits if line.startswith('{"add"')]
    (bounds,) = [json.loads(add["stats"]) for add in adds if add["path"] in names[0] and "stats" in add]
    assert "ts" not in bounds["minValues"] and "ts" not in bounds["maxValues"], bounds
    query = deltalake.QueryBuilder().register("packets", deltalake.DeltaTable(str(table)))
    rows = query.execute("select count(*) as n from packets where packet_number >= 0 and source_id = 'int96.parquet'").read_all()
    assert rows["n"][0].as_py() == 3, rows
    print("note: times of all years, infinity and INT96 are as they were; pyarrow, DuckDB and deltalake read them")
