# The table, with other engines: Spark on what we wrote, and we on what Spark wrote.

trust_phase() {
  check 'pyspark, and the jars of Delta' install_spark
  # Two at a time: each is a JVM that keeps one core busy.
  spark_begins interleaved.py
  check 'tables that Deltacap wrote: all engines agree, and skip files' spark_check our_tables.py
  check 'Spark rewrites and deletes while we append: rows exact after every turn' spark_ends interleaved.py
  spark_begins histories.py
  check 'tables that Spark changed: append, or refuse by name' spark_check their_tables.py
  check 'random histories: Spark and deltalake read what the model says' spark_ends histories.py
  parquet_checks
  rewriting_checks
  check 'Spark 3.5 scans and optimizes the oddest times' spark_35_takes_odd_times
  checkpoint_checks
  outputs_checks
}

# By Maven's copy: Spark's own resolver trips over half-filled local repositories.
install_spark() {
  "$VENV/bin/pip" install --quiet --disable-pip-version-check -r .ci/requirements-trust.txt || return 1
  # The environment of the phase cloud, with what reads by files.
  install_environment deltalake-1.6.0 deltalake==1.6.0 arro3-core==0.9.1 pyarrow==26.0.1 || return 1
  install_environment moto 'moto[server]==5.2.5' || return 1
  mvn -q -B -f test/engines/spark/pom.xml dependency:copy-dependencies -DoutputDirectory="$WORK/spark-jars"
}

# The oldest Spark that is common, in an environment of its own: newer ones are more lenient with times.
spark_35_takes_odd_times() {
  install_environment spark-3.5 pyspark==3.5.6 || return 1
  mvn -q -B -f test/engines/spark/3.5/pom.xml dependency:copy-dependencies -DoutputDirectory="$WORK/spark-3.5-jars" || return 1
  mkdir -p "$WORK/spark-3.5"
  PYTHONDONTWRITEBYTECODE=1 .ci/.venv-spark-3.5/bin/python test/engines/spark/old_spark.py "$WORK/spark-3.5-jars" "$WORK/spark-3.5" \
    "$DELTACAP_FAULTS/captures/edge-times.pcapng"
}

spark_check() { # spark_check SCRIPT [FOLDER]
  mkdir -p "$WORK/spark"
  PYTHONDONTWRITEBYTECODE=1 DELTACAP_DELTA_RS_PYTHON="$PWD/.ci/.venv-deltalake-1.6.0/bin/python" \
    "$PYTHON" "test/engines/spark/$1" "$WORK/spark-jars" "${2:-$WORK/spark}"
}

spark_begins() { # spark_begins SCRIPT: in the background; spark_ends waits for it, and has its output and result
  spark_check "$1" >"$WORK/$1.output" 2>&1 &
  echo $! >"$WORK/$1.pid"
}

spark_ends() {
  local result
  wait "$(cat "$WORK/$1.pid")"
  result=$?
  cat "$WORK/$1.output"
  return $result
}
