# Checks of what the benchmarks rest on; the benchmarks are commands of their own.

# The yardstick is Go's; the other peers take minutes to build, and `npm run bench:peers` skips by name what is not to be had.
peers_write_equal_rows() {
  npx tsx bench/peers/run.ts --packets 20000 --runs 1 --form "$1" --peer gopacket --node "$NODE24" --node "$(command -v node)" \
    >"$WORK/peers.txt" || { cat "$WORK/peers.txt"; return 1; }
  sed 's/^\([^|].*\)/note \1/' "$WORK/peers.txt" | grep -E '^note (gopacket|skipped|deltacap)'
  # Skipped is not equal.
  [ "$(grep -c '^gopacket.* equal$' "$WORK/peers.txt")" -eq 2 ]
}

random_tables() { # random_tables FOLDER [NODE]: Node 24 has zstd, the other one has it in WebAssembly
  "${2:-$NODE24}" --conditions=deltacap-source --import tsx test/support/parquet/write-random-tables.ts "$1" 100
}

# The jars are those of the phase trust, where it has run before.
spark_reads_random_tables() {
  [ -d "$WORK/spark-jars" ] || install_spark || return 1
  spark_check random_tables.py "$WORK/random"
}

same_bytes_again() {
  random_tables "$WORK/random-again" && diff -rq "$WORK/random" "$WORK/random-again"
}

fleet_cost() { # fleet_cost NAME OBJECTS BYTES PACKETS: fails where there is no sum
  node dist/cli/main.js cost --vehicles 80000 --objects "$2" --bytes "$3" --packets "$4" >"$WORK/cost.txt" || return 1
  echo "note $1: \$$(awk '$1 == "all" { print $2 }' "$WORK/cost.txt") a day"
  grep -qE '^all +[0-9.]+ +100\.0%$' "$WORK/cost.txt"
}

cost_of_two_fleets() {
  fleet_cost '100 captures of 5 MB a second' 108 5MB 16000 && fleet_cost '1,333 captures of 50 KB a second' 1440 50KB 160
}

speed_phase() {
  check 'random tables by our own writer' random_tables "$WORK/random"
  check 'pyarrow and DuckDB read the same' "$PYTHON" test/parquet/cross-check.py "$WORK/random"
  check 'random tables with zstd in WebAssembly' random_tables "$WORK/random-wasm" node
  check 'pyarrow and DuckDB read the same, zstd in WebAssembly' "$PYTHON" test/parquet/cross-check.py "$WORK/random-wasm"
  check 'Spark reads the same, also with filters' spark_reads_random_tables
  check 'hyparquet and parquet-wasm read the same, zstd' "$NODE24" node_modules/vitest/vitest.mjs run packages/parquet/test/encode/paged-writer.test.ts
  check 'the same bytes for the same tables' same_bytes_again
  check 'build for deltacap cost' npm run build
  check 'deltacap cost' cost_of_two_fleets
  check 'gopacket + arrow-go write equal rows: pcap' peers_write_equal_rows pcap
  check 'gopacket + arrow-go write equal rows: pcapng, gzip' peers_write_equal_rows pcapng.gz
}
