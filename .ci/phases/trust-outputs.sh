# Outputs of the stack, executed word for word for each value of logStore and tableScheme. What they do not say (where the test's S3 is) is
# told by Spark's own settings file and by the environment.
#
# Not executed: Athena's statement, which has no other server; DuckDB's, where its extensions cannot be downloaded (its syntax is checked
# then); Delta's own log store in DynamoDB, which knows no other endpoint than AWS's (a class of its name stands in for it).

outputs_checks() {
  check 'outputs: printed, with a table to read' prepare_outputs
  check 'outputs: Spark, delta-rs and DuckDB, word for word' on_moto execute_outputs
}

prepare_outputs() {
  local captures="$WORK/outputs/captures/car-1"
  mkdir -p "$captures" && cp "$(find "$DELTACAP_CAPTURES/files" -name '*.pcap' -size -20k | sort | head -n 1)" "$captures/" || return 1
  npx tsx test/engines/outputs/print.ts "$WORK/outputs" || return 1
  npx tsx cli/main.ts ingest "$WORK/outputs/captures" --table "$WORK/outputs/table" --json | tee "$WORK/outputs/ingest" || return 1
  rows=$(python3 -c 'import json, sys; print(json.loads(open(sys.argv[1]).readlines()[-1])["packets"])' "$WORK/outputs/ingest")
  stand_in_log_store && spark_settings_of_the_test
}

# Under the coordinates that the output names, in a repository of its own.
stand_in_log_store() {
  local version repository classes="$WORK/outputs/classes" jars
  version=$(grep -oE 'delta-storage-s3-dynamodb:[0-9.]+' "$WORK/outputs/dynamodb-s3a/SparkSettings" | cut -d: -f2)
  repository="$WORK/outputs/repository/io/delta/delta-storage-s3-dynamodb/$version"
  jars=$("$PYTHON" -c 'import os, pyspark; print(os.path.join(os.path.dirname(pyspark.__file__), "jars"))') || return 1
  mkdir -p "$classes" "$repository"
  javac -cp "$jars/*:$WORK/spark-jars/*" -d "$classes" test/engines/outputs/log-store/io/delta/storage/S3DynamoDBLogStore.java || return 1
  jar --create --file "$repository/delta-storage-s3-dynamodb-$version.jar" -C "$classes" . || return 1
  printf '<project><modelVersion>4.0.0</modelVersion><groupId>io.delta</groupId><artifactId>delta-storage-s3-dynamodb</artifactId><version>%s</version></project>' \
    "$version" >"$repository/delta-storage-s3-dynamodb-$version.pom"
}

spark_settings_of_the_test() {
  mkdir -p "$WORK/outputs/conf"
  cat >"$WORK/outputs/conf/ivysettings.xml" <<XML
<ivysettings>
  <settings defaultResolver="all"/>
  <resolvers>
    <chain name="all" returnFirst="true">
      <ibiblio name="stand-in" m2compatible="true" root="file://$WORK/outputs/repository/"/>
      <ibiblio name="central" m2compatible="true"/>
    </chain>
  </resolvers>
</ivysettings>
XML
  cat >"$WORK/outputs/conf/spark-defaults.conf.template" <<CONF
spark.master local[1]
spark.ui.enabled false
spark.driver.memory 1g
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.log.level ERROR
spark.sql.shuffle.partitions 1
spark.databricks.delta.snapshotPartitions 1
spark.jars.ivy $WORK/outputs/ivy
spark.jars.ivySettings $WORK/outputs/conf/ivysettings.xml
spark.hadoop.fs.s3a.endpoint ENDPOINT
spark.hadoop.fs.s3a.endpoint.region eu-central-1
spark.hadoop.fs.s3a.path.style.access true
CONF
}

execute_outputs() (
  export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=eu-central-1 SPARK_CONF_DIR="$WORK/outputs/conf" PYSPARK_PYTHON="$PYTHON"
  sed "s#ENDPOINT#$DELTACAP_S3_ENDPOINT#" "$SPARK_CONF_DIR/spark-defaults.conf.template" >"$SPARK_CONF_DIR/spark-defaults.conf"
  .ci/.venv-moto/bin/python test/engines/outputs/execute.py put "$WORK/outputs/table" || exit 1
  for choice in dynamodb-s3a dynamodb-s3 conditional-s3a conditional-s3; do
    execute_spark "$choice" && execute_delta_rs "$choice" && execute_duckdb "$choice" || exit 1
  done
)

# As a shell reads what was pasted behind spark-submit.
execute_spark() { # execute_spark CHOICE
  local place="$WORK/outputs/$1"
  bash -c "'$VENV/bin/spark-submit' $(cat "$place/SparkSettings") test/engines/outputs/execute.py read '$place/SparkRead'" \
    >"$place/spark.txt" 2>"$place/spark.log" || { tail -n 40 "$place/spark.log"; return 1; }
  cat "$place/spark.txt"
  grep -qx "rows $rows" "$place/spark.txt" || return 1
  case $1 in
    dynamodb-*) grep -qx 'log store: delta-log in eu-central-1' "$place/spark.txt" && grep -qx 'read only: no' "$place/spark.txt" ;;
    *) grep -q '^read only: Spark must not write this table' "$place/spark.txt" && ! grep -q '^log store' "$place/spark.txt" ;;
  esac
}

# In an environment that has what the statement says is needed, and nothing else.
execute_delta_rs() { # execute_delta_rs CHOICE
  local statement="$WORK/outputs/$1/DeltaRsStatement" environment="$WORK/outputs/delta-rs" install
  install=$(sed -n 's/.*# \(pip install .*\)$/\1/p' "$statement")
  [ -n "$install" ] || { echo "nothing to install in: $(cat "$statement")"; return 1; }
  if [ ! -d "$environment" ]; then
    python3 -m venv "$environment" || return 1
    PATH="$environment/bin:$PATH" PIP_CONSTRAINT="$PWD/.ci/requirements.txt" PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 bash -c "$install" || return 1
  fi
  AWS_ENDPOINT_URL="$DELTACAP_S3_ENDPOINT" AWS_ALLOW_HTTP=true "$environment/bin/python" test/engines/outputs/execute.py read "$statement" |
    tee "$WORK/outputs/$1/delta-rs.txt"
  grep -qx "rows $rows" "$WORK/outputs/$1/delta-rs.txt"
}

execute_duckdb() { # execute_duckdb CHOICE
  "$PYTHON" - "$WORK/outputs/$1/DuckDbStatement" <<'PYTHON'
import sys, duckdb
text = open(sys.argv[1]).read()
kinds = [str(statement.type) for statement in duckdb.extract_statements(text)]
assert len(kinds) == 4, kinds
print("note: DuckDB's statement is parsed, not executed: it needs extensions from the network and AWS's own endpoint")
PYTHON
}
