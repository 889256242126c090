"""A Spark session with Delta, and Deltacap beside it as a process: what the checks in this folder share."""
import json
import os
import subprocess
import sys
import time

from pyspark.sql import SparkSession

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from leave import leave  # noqa: E402

# Of what Maven copies, Spark itself has all but these.
JARS = ("delta-spark", "delta-storage")


def spark_session(jars: str, memory: str = "1g") -> SparkSession:
    """Small and quick rather than fast at scale: one thread, one partition, the C1 compiler alone."""
    paths = [os.path.join(jars, name) for name in sorted(os.listdir(jars)) if name.startswith(JARS)]
    options = {
        "spark.jars": ",".join(paths),
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.default.parallelism": "1",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
    }
    builder = SparkSession.builder.master("local[1]").appName("deltacap")
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Deltacap:
    """The engine as a process: see deltacap.ts for its orders."""

    def __init__(self, root: str):
        command = [os.environ.get("DELTACAP_NODE", "node"), "--conditions=deltacap-source", "--import", "tsx", "test/engines/spark/deltacap.ts"]
        self.process = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def order(self, **order) -> dict:
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line == "":
            raise RuntimeError(f"deltacap ended with {self.process.wait()}")
        return json.loads(line)

    def ingest(self, table: str, name: str, day="2026-01-02", vehicle="v1", packets=60, untimed=0) -> dict:
        return self.order(ingest=table, vehicle=vehicle, name=name, day=day, packets=packets, untimed=untimed)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


class Report:
    """Counts what was checked; differences are printed, and say what was expected."""

    def __init__(self) -> None:
        self.checks = 0
        self.wrong = 0
        self.started = time.time()

    def equal(self, what: str, found, expected) -> None:
        self.checks += 1
        if found != expected:
            self.wrong += 1
            print(f"WRONG {what}: found {found}, expected {expected}", flush=True)

    def note(self, text: str) -> None:
        print(f"note: {time.time() - self.started:.0f} s: {text}", flush=True)

    def finish(self, what: str) -> None:
        print(f"note: {what}: {self.checks} checks, {self.wrong} wrong", flush=True)
        leave(1 if self.wrong or not self.checks else 0)
