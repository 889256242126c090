# Optimize, vacuum and forget, beside deltalake: every engine reads the same rows before and after.

deltacap() { node dist/cli/main.js "$@"; }

# A third of the captures, as three vehicles might have recorded them: each date has files of all three. A content is ingested once:
# what one vehicle has plain, the others have compressed, each in its own way.
ingest_vehicle() { # ingest_vehicle TABLE VEHICLE; exit 1 since some captures are broken on purpose
  local folder="$WORK/fleet/$2/$2"
  if [ ! -d "$folder" ]; then
    mkdir -p "$folder"
    for file in $(find "$DELTACAP_CAPTURES/files" -type f | sort | awk 'NR % 3 == 1'); do
      case "$2" in
        car-1) cp "$file" "$folder" || return 1 ;;
        car-2) gzip -n -1 <"$file" >"$folder/${file##*/}.gz" || return 1 ;;
        *) gzip -n -9 <"$file" >"$folder/${file##*/}.gz" || return 1 ;;
      esac
    done
  fi
  deltacap ingest "$WORK/fleet/$2" --table "$1"
  [ $? -le 1 ]
}

optimize_keeps_rows() {
  local before="$WORK/before-optimize" after="$WORK/optimized"
  for vehicle in car-1 car-2 car-3; do ingest_vehicle "$after" "$vehicle" || return 1; done
  cp -r "$after" "$before"
  deltacap optimize "$after" --json | tail -n 1 | grep -q '"added_files":[1-9]' || return 1
  "$PYTHON" test/engines/read_table.py "$before" "$after"
}

# deltalake merges two vehicles' files, unsorted and with another writer; we merge what it made with a third's.
optimize_after_deltalake() {
  local table="$WORK/deltalake-optimized"
  ingest_vehicle "$table" car-1 && ingest_vehicle "$table" car-2 || return 1
  "$PYTHON" -c 'import sys, deltalake; print(deltalake.DeltaTable(sys.argv[1]).optimize.compact())' "$table" || return 1
  ingest_vehicle "$table" car-3 && deltacap optimize "$table" || return 1
  "$PYTHON" test/engines/read_table.py "$WORK/before-optimize" "$table"
}

# And deltalake goes on with what we made.
deltalake_after_optimize() {
  "$PYTHON" - "$WORK/optimized" <<'PYTHON'
import sys
from deltalake import DeltaTable, QueryBuilder
table = DeltaTable(sys.argv[1])
count = lambda: QueryBuilder().register("packets", table).execute("select count(*) as n from packets").read_all()["n"][0].as_py()
rows = count()
deleted = table.delete("vehicle_id = 'car-1' and packet_number = 1")["num_deleted_rows"]
table.optimize.compact()
assert deleted > 0 and count() == rows - deleted, (rows, deleted)
PYTHON
}

forget_leaves_the_others() {
  local table="$WORK/forgotten" without="$WORK/never-there"
  cp -r "$WORK/before-optimize" "$table"
  deltacap optimize "$table" && deltacap forget "$table" --vehicle car-2 || return 1
  ingest_vehicle "$without" car-1 && ingest_vehicle "$without" car-3 || return 1
  "$PYTHON" test/engines/read_table.py "$without" "$table"
}

# What is left is what the newest version refers to, by deltalake's word.
vacuum_leaves_live_files() {
  local table="$WORK/forgotten"
  deltacap vacuum "$table" --retention-hours 0 --allow-short-retention --delete || return 1
  "$PYTHON" - "$table" <<'PYTHON' || return 1
import pathlib, sys, deltalake
root = pathlib.Path(sys.argv[1])
live = {pathlib.Path(uri) for uri in deltalake.DeltaTable(sys.argv[1]).file_uris()}
there = {path for path in root.rglob("*.parquet") if not any(part.startswith("_") for part in path.relative_to(root).parts)}
print(f"note: {len(live)} files are left")
assert live == there, (live - there, there - live)
PYTHON
  "$PYTHON" test/engines/read_table.py "$WORK/never-there" "$table"
}

rewriting_checks() {
  check 'the command line is built, for rewriting' npm run build
  check 'optimize: deltalake, pyarrow and DuckDB read the same rows' optimize_keeps_rows
  check 'optimize after deltalake has optimized' optimize_after_deltalake
  check 'deltalake deletes and optimizes after us' deltalake_after_optimize
  check 'forget: the table is as if the vehicle had never been' forget_leaves_the_others
  check 'vacuum leaves what the newest version refers to' vacuum_leaves_live_files
}
