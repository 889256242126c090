# The Parquet reader: files of other writers in every form, and files that are damaged.

reads_every_form() {
  local folder="$WORK/parquet-forms"
  mkdir -p "$folder"
  "$PYTHON" test/engines/parquet/encodings.py "$folder" && npx tsx test/engines/parquet/compare.ts "$folder"
}

fuzz_parquet() {
  npm run --silent fuzz:parquet -- --inputs 25000 --seed "${DELTACAP_SEED:-$RANDOM}"
}

keeps_struct_statistics() {
  local table="$WORK/struct-statistics"
  ingest_vehicle "$table" car-1 && deltacap checkpoint "$table" || return 1
  "$PYTHON" test/engines/parquet/struct_statistics.py make "$table" "$WORK/statistics.json" || return 1
  from_checkpoint_alone "$table" "$table-alone" && ingest_vehicle "$table-alone" car-2 && deltacap checkpoint "$table-alone" || return 1
  "$PYTHON" test/engines/parquet/struct_statistics.py compare "$table-alone" "$WORK/statistics.json"
}

keeps_other_times() {
  local table="$WORK/other-times"
  ingest_vehicle "$table" car-1 && "$PYTHON" test/engines/parquet/other_times.py make "$table" || return 1
  deltacap optimize "$table" && "$PYTHON" test/engines/parquet/other_times.py compare "$table"
}

parquet_checks() {
  check 'statistics that a checkpoint has as a struct only are in the next one, for deltalake too' keeps_struct_statistics
  check 'optimize keeps times of all years of other writers, and every engine reads them' keeps_other_times
  check 'mutated checkpoints and data files: no hang, no stray rejection, documented errors and exit codes' fuzz_parquet
  check 'Parquet of pyarrow and DuckDB in every version, codec and encoding is read' reads_every_form
}
