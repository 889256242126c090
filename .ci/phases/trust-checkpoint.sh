# Checkpoints, by what other engines read when the log before them is gone.

# The table beside, with the commits before its newest checkpoint removed, as a log is cleaned up: what is left must say all.
from_checkpoint_alone() { # from_checkpoint_alone TABLE COPY
  cp -r "$1" "$2" || return 1
  local newest
  newest=$(basename "$(ls "$2"/_delta_log/*.checkpoint.parquet | tail -n 1)" .checkpoint.parquet)
  for commit in "$2"/_delta_log/*.json; do
    if [[ "$(basename "$commit" .json)" < "$newest" ]]; then rm "$commit"; fi
  done
}

# Three vehicles, one of them forgotten: adds, removes and tombstones.
checkpoint_says_all() {
  local table="$WORK/checkpointed" before="$WORK/before-checkpoint"
  ingest_vehicle "$table" car-1 && ingest_vehicle "$table" car-2 || return 1
  deltacap optimize "$table" && ingest_vehicle "$table" car-3 && deltacap forget "$table" --vehicle car-2 || return 1
  cp -r "$table" "$before"
  deltacap checkpoint "$table" && from_checkpoint_alone "$table" "$WORK/checkpoint-alone" || return 1
  "$PYTHON" test/engines/read_table.py "$before" "$WORK/checkpoint-alone" && same_tombstones "$before" "$WORK/checkpoint-alone"
}

# What VACUUM goes by, as pyarrow finds it in the checkpoint and in the commits.
same_tombstones() { # same_tombstones TABLE TABLE_FROM_CHECKPOINT
  "$PYTHON" - "$1" "$2" <<'PYTHON'
import json, pathlib, sys
import pyarrow.parquet as pq
live, removed = set(), set()
for commit in sorted(pathlib.Path(sys.argv[1], "_delta_log").glob("*.json")):
    for action in map(json.loads, commit.read_text().splitlines()):
        if "remove" in action:
            live.discard(action["remove"]["path"])
            removed.add(action["remove"]["path"])
        if "add" in action:
            live.add(action["add"]["path"])
            removed.discard(action["add"]["path"])
(checkpoint,) = pathlib.Path(sys.argv[2], "_delta_log").glob("*.checkpoint.parquet")
rows = pq.read_table(checkpoint).to_pylist()
assert {row["add"]["path"] for row in rows if row["add"]} == live
assert {row["remove"]["path"] for row in rows if row["remove"]} == removed and removed
assert not any(file["dataChange"] for row in rows for file in (row["add"], row["remove"]) if file)
print(f"note: {len(live)} live files and {len(removed)} tombstones in a checkpoint of {checkpoint.stat().st_size} bytes")
PYTHON
}

# On a checkpoint and commits of deltalake's; and deltalake goes on from ours, to a checkpoint of its own.
checkpoints_take_turns() {
  local table="$WORK/turns"
  cp -r "$WORK/before-checkpoint" "$table"
  "$PYTHON" - "$table" <<'PYTHON' || return 1
import sys, deltalake
deltalake.DeltaTable(sys.argv[1]).create_checkpoint()
deltalake.DeltaTable(sys.argv[1]).delete("packet_number = 1")
PYTHON
  deltacap checkpoint "$table" && from_checkpoint_alone "$table" "$WORK/turns-alone" || return 1
  "$PYTHON" test/engines/read_table.py "$table" "$WORK/turns-alone" || return 1
  "$PYTHON" - "$WORK/turns-alone" <<'PYTHON' || return 1
import sys, deltalake
deltalake.DeltaTable(sys.argv[1]).delete("packet_number = 2")
deltalake.DeltaTable(sys.argv[1]).create_checkpoint()
PYTHON
  from_checkpoint_alone "$WORK/turns-alone" "$WORK/turns-again" || return 1
  deltacap sql "$WORK/turns-again" "select count(*) as n from packets" --json | tee "$WORK/turns-count"
  "$PYTHON" - "$WORK/turns-again" "$WORK/turns-count" <<'PYTHON'
import json, sys
from deltalake import DeltaTable, QueryBuilder
counted = QueryBuilder().register("packets", DeltaTable(sys.argv[1])).execute("select count(*) as n from packets").read_all()
rows = counted["n"][0].as_py()
assert rows == int(json.load(open(sys.argv[2]))["n"]) > 0, rows
PYTHON
}

# A million files may take 1.5 GB: a hundred thousand, far less than that on any machine.
many_files() {
  local table="$WORK/many-files" most=800 files
  npx tsx bench/checkpoint.ts --sizes 100000 --keep "$table" >"$WORK/many-files.txt" || { cat "$WORK/many-files.txt"; return 1; }
  sed 's/^ */note: /' "$WORK/many-files.txt"
  awk -v most="$most" '/MiB peak/ { steps++; for (i = 1; i < NF; i++) if ($(i + 1) == "MiB" && $i > most) over = 1 } END { exit !(steps == 4 && !over) }' \
    "$WORK/many-files.txt" || { echo "a step took more than $most MiB, or is missing"; return 1; }
  files=$(awk '/file list/ { print $(NF - 1) }' "$WORK/many-files.txt")
  "$PYTHON" test/engines/spark/many_files.py "$WORK/spark-jars" "$table" "$files"
}

checkpoint_checks() {
  check 'checkpoint: every engine reads the same from it alone' checkpoint_says_all
  check 'checkpoints of deltalake and of Deltacap, each on the other' checkpoints_take_turns
  check 'a checkpoint of 100,000 files: memory, and Spark and deltalake find them all' many_files
}
