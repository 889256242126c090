"""Puts a table's newest checkpoint into the form that Spark gives it with writeStatsAsJson = false: statistics as a struct only.

Usage: struct_statistics.py make TABLE STATS     changes the checkpoint, and writes the statistics that it had
       struct_statistics.py compare TABLE STATS  the newest checkpoint has the same statistics, and deltalake reads them"""

import datetime
import json
import pathlib
import sys

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq

step, table, file = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
checkpoint = max((table / "_delta_log").glob("*.checkpoint.parquet"))
rows = pq.read_table(checkpoint).to_pylist()
stats = {row["add"]["path"]: json.loads(row["add"]["stats"]) for row in rows if row["add"]}


def is_time(value):
    return isinstance(value, str) and value.endswith("Z") and value[4] == "-" and value[10] == "T"


def typed(value):
    if isinstance(value, dict):
        return {name: typed(member) for name, member in value.items()}
    return datetime.datetime.fromisoformat(value.replace("Z", "+00:00")) if is_time(value) else value


if step == "make":
    file.write_text(json.dumps(stats))
    old = pq.read_table(checkpoint)
    add = old.column("add").combine_chunks()
    parsed = pa.array([typed(json.loads(row["add"]["stats"])) if row["add"] else None for row in rows])
    names = [field.name for field in add.type]
    kept = [name for name in names if name != "stats"]
    fields = [add.field(name) for name in kept] + [parsed]
    struct = pa.StructArray.from_arrays(fields, kept + ["stats_parsed"], mask=add.is_null())
    pq.write_table(old.set_column(old.schema.get_field_index("add"), "add", struct), checkpoint)
else:
    before = json.loads(file.read_text())
    assert before and all(stats[path] == value for path, value in before.items()), (stats, before)
    found = deltalake.DeltaTable(str(table)).get_add_actions(flatten=True)
    actions = pa.table(found).to_pydict()
    for path, rows, least in zip(actions["path"], actions["num_records"], actions["min.packet_number"]):
        expected = stats.get(path) or next(value for name, value in stats.items() if name.endswith(path))
        assert (rows, least) == (expected["numRecords"], expected["minValues"]["packet_number"]), path
    print(f"note: statistics of {len(before)} files are as they were, and deltalake reads them")
