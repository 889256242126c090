# The engine and the command line, on the captures.

ingest_captures() { # every capture, exit 1 since some are broken on purpose
  node dist/cli/main.js ingest "$DELTACAP_CAPTURES/files" --table "$WORK/captures-table"
  [ $? -eq 1 ]
}

second_ingest_adds_nothing() {
  local before after
  before=$(ls "$WORK/captures-table/_delta_log" | wc -l)
  node dist/cli/main.js ingest "$DELTACAP_CAPTURES/files" --table "$WORK/captures-table" --json | tail -n 1 | tee "$WORK/second.json"
  after=$(ls "$WORK/captures-table/_delta_log" | wc -l)
  [ "$before" = "$after" ] && grep -q '"ingested":0' "$WORK/second.json"
}

# The judge exits 1 when anything differs; which differences are expected is for the exceptions list to say.
compare_with_tshark() {
  "$PYTHON" "$DELTACAP_CAPTURES/tools/compare.py" --oracle "$DELTACAP_CAPTURES/oracle" \
    --product "$WORK/captures-table" --mapping "$DELTACAP_CAPTURES/map.json" --index "$DELTACAP_CAPTURES/INDEX.tsv" \
    --show 100000 --json "$WORK/compare.json" >"$WORK/compare.txt"
  [ -s "$WORK/compare.json" ] && npx tsx test/captures/judge.ts "$WORK/compare.json"
}

# Where Node has zstd our own Parquet writer is used: other bytes, the same rows.
ingest_on_node_24() {
  "$NODE24" dist/cli/main.js ingest "$DELTACAP_CAPTURES/files" --table "$WORK/node-24-table" --jobs 2
  [ $? -eq 1 ] && "$PYTHON" test/engines/read_table.py "$WORK/captures-table" "$WORK/node-24-table"
}

foundation_phase() {
  check 'captures are present' test -s "$DELTACAP_CAPTURES/INDEX.tsv"
  check 'inputs of earlier faults are present' test -s "$DELTACAP_FAULTS/README.md"
  check 'format, lint, types, architecture: npm run check' npm run check
  check 'tests: npm test' env DELTACAP_PYTHON="$PYTHON" npm test
  check 'npm run demo' npm run demo
  check 'npm run build' npm run build
  check 'all captures ingested' ingest_captures
  check 'a second ingest adds nothing' second_ingest_adds_nothing
  check 'columns agree with tshark' compare_with_tshark
  check 'pyarrow, delta-rs and DuckDB agree' "$PYTHON" test/engines/read_table.py "$WORK/captures-table"
  check 'Node 24, with our own Parquet writer: the same rows' ingest_on_node_24
}
