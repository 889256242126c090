# The Parquet reader: files of other writers in every form, and files that are damaged.

reads_every_form() {
  local folder="$WORK/parquet-forms"
  mkdir -p "$folder"
  "$PYTHON" test/engines/parquet/encodings.py "$folder" && npx tsx test/engines/parquet/compare.ts "$folder"
}

fuzz_parquet() {
  npm run --silent fuzz:parquet -- --inputs 25000 --seed "${DELTACAP_SEED:-$RANDOM}"
}

parquet_checks() {
  check 'mutated checkpoints and data files: no hang, no stray rejection, documented errors and exit codes' fuzz_parquet
  check 'Parquet of pyarrow and DuckDB in every version, codec and encoding is read' reads_every_form
}
