"""histories.py JARS FOLDER: random histories of a table, made by Deltacap and in others' ways, are read by Spark and deltalake as the model says."""
import json
import os
import subprocess
import sys
import traceback

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql.functions import expr
from session import Report, spark_session

HISTORIES = 20
LARGE = 2**53 + 1


def by_spark(spark, path: str, more: list) -> dict:
    table = spark.read.format("delta").load(path)
    sums = ["count(1)", "coalesce(sum(cast(n AS DECIMAL(38, 0))), 0)"]
    for name in more:
        sums += [f"count({name})", f"coalesce(sum(cast({name} AS DECIMAL(38, 0))), 0)"]
    # Each query is some seconds: one for all that needs no filter, its rows added up here.
    dates = table.groupBy("date").agg(*[expr(value) for value in sums]).collect()
    totals = [sum(int(row[i + 1]) for row in dates) for i in range(len(sums))]
    return {
        "rows": totals[0],
        "sum": str(totals[1]),
        "large": table.where(f"n >= {LARGE}").count(),
        "dates": {str(row[0] or "null"): row[1] for row in dates},
        "more": {name: {"count": totals[2 + 2 * i], "sum": str(totals[3 + 2 * i])} for i, name in enumerate(more)},
    }


def by_deltalake(path: str, more: list) -> dict:
    """By its SQL engine: its PyArrow reader does not take tables with V2 checkpoints."""
    table = QueryBuilder().register("t", DeltaTable(path))

    def ask(sql: str) -> list:
        rows = pa.table(table.execute(sql).read_all()).to_pylist()
        return [list(row.values()) for row in rows]

    sums = ["count(1)", "coalesce(sum(cast(n AS DECIMAL(38, 0))), 0) AS total"]
    for name in more:
        sums += [f"count({name}) AS count_{name}", f"coalesce(sum(cast({name} AS DECIMAL(38, 0))), 0) AS sum_{name}"]
    rows, total, *others = ask(f"SELECT {', '.join(sums)} FROM t")[0]
    return {
        "rows": rows,
        "sum": str(total),
        "large": ask(f"SELECT count(1) FROM t WHERE n >= {LARGE}")[0][0],
        "dates": {str(date or "null"): count for date, count in ask("SELECT date, count(1) FROM t GROUP BY date")},
        "more": {name: {"count": others[2 * i], "sum": str(others[2 * i + 1])} for i, name in enumerate(more)},
    }


def main(jars: str, folder: str) -> None:
    report = Report()
    make = ["node", "--conditions=deltacap-source", "--import", "tsx", "test/engines/spark/histories.ts", folder, str(HISTORIES)]
    lines = subprocess.run(make, capture_output=True, text=True, check=True).stdout.splitlines()
    histories = [json.loads(line) for line in lines]
    report.note(f"{len(histories)} histories of seed {histories[0]['seed']}")
    spark = spark_session(jars)
    for history in histories:
        what = f"history {history['number']} of seed {history['seed']} ({history['steps']})"
        more = list(history["more"])
        expected = {key: history[key] for key in ("rows", "sum", "large", "dates", "more")}
        for engine, read in (("Spark", lambda: by_spark(spark, history["path"], more)), ("deltalake", lambda: by_deltalake(history["path"], more))):
            try:
                report.equal(f"{engine}: {what}", read(), expected)
            except Exception as error:
                traceback.print_exc(limit=3)
                report.equal(f"{engine}: {what}: {str(error)[:1000]}", "an error", "none")
    report.note("read by Spark and deltalake")
    spark.stop()
    report.finish("random histories")


if __name__ == "__main__":
    main(*sys.argv[1:])
