"""old_spark.py JARS FOLDER [CAPTURE...]: Spark 3.5 scans, filters and optimizes a table whose captures have the oddest times.

Spark 3 refuses to read or write Parquet files with a time before 1900 unless it is told how. The table has none: a time outside the
years 1900 to 2299 is null. The captures: one with a packet on each side of both bounds, and those given.
"""
import os
import shutil
import struct
import subprocess
import sys
from datetime import datetime, timedelta, timezone

import pyspark
from session import Report, spark_session

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)


def micros(text: str) -> int:
    return (datetime.fromisoformat(f"{text}+00:00") - EPOCH) // MICROSECOND


INSIDE = [micros(text) for text in ("1900-01-01 00:00:00", "1969-12-31 23:59:59.999999", "2026-01-02 03:04:05", "2299-12-31 23:59:59.999999")]
OUTSIDE = [micros(text) for text in ("0001-01-01 00:00:00", "1804-01-01 00:00:00", "1899-12-31 23:59:59.999999", "2300-01-01 00:00:00", "9999-12-31 23:59:59")]


def pcapng(times: list) -> bytes:
    """A packet at each time; if_tsoffset is the year 1."""
    offset = micros("0001-01-01 00:00:00")
    blocks = [(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    blocks.append((1, struct.pack("<HHIHHqI", 1, 0, 0, 14, 8, offset // 1_000_000, 0)))
    for time in times:
        ticks = time - offset
        frame = bytes(60)
        blocks.append((6, struct.pack("<IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), len(frame)) + frame))
    return b"".join(struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12) for kind, body in blocks)


def ingest(captures: str, table: str) -> None:
    subprocess.run(["node", "dist/cli/main.js", "ingest", captures, "--table", table, "--jobs", "1"], check=True)


def main(jars: str, folder: str, *others: str) -> None:
    report = Report()
    captures, table = os.path.join(folder, "captures"), os.path.join(folder, "table")
    os.makedirs(os.path.join(captures, "car-1"))
    with open(os.path.join(captures, "car-1", "bounds.pcapng"), "wb") as file:
        file.write(pcapng(INSIDE + OUTSIDE))
    for other in others:
        shutil.copy(other, os.path.join(captures, "car-1"))
    ingest(captures, table)
    # Each date has two files, so that OPTIMIZE has something to write.
    shutil.copytree(os.path.join(captures, "car-1"), os.path.join(captures, "car-2"))
    for name in os.listdir(os.path.join(captures, "car-2")):
        with open(os.path.join(captures, "car-2", name), "ab") as file:
            file.write(pcapng([INSIDE[0]]))
    ingest(captures, table)
    spark = spark_session(jars)
    report.note(f"Spark {pyspark.__version__}")

    def agree(stage: str) -> None:
        packets = spark.read.format("delta").load(table)
        rows = packets.where("capture like '%/car-1/bounds.pcapng'").orderBy("packet_number").selectExpr("unix_micros(ts)", "date", "cast(ts as date)").collect()
        report.equal(f"times, {stage}", [row[0] for row in rows], INSIDE + [None] * len(OUTSIDE))
        report.equal(f"dates, {stage}", [row[1] for row in rows], [row[2] for row in rows])
        report.equal(f"rows of a full scan, {stage}", packets.selectExpr("count(hash(*))").collect()[0][0], packets.count())
        for low, high in (("1800-01-01", "1900-01-02"), ("2299-12-31", "9999-12-31"), ("2026-01-01", "2026-12-31")):
            found = packets.where(f"ts between timestamp'{low}' and timestamp'{high} 23:59:59' and capture like '%/car-1/bounds.pcapng'").count()
            report.equal(f"packets from {low} to {high}, {stage}", found, 1)

    agree("as written")
    before = spark.read.format("delta").load(table).count()
    spark.sql(f"OPTIMIZE delta.`{table}`")
    agree("optimized by Spark")
    report.equal("rows after OPTIMIZE", spark.read.format("delta").load(table).count(), before)
    files = spark.sql(f"DESCRIBE DETAIL delta.`{table}`").collect()[0]["numFiles"]
    dates = spark.read.format("delta").load(table).select("date").distinct().count()
    report.equal("files after OPTIMIZE", files, dates)
    spark.stop()
    report.finish("a table with times at the bounds, by Spark 3.5")


if __name__ == "__main__":
    main(*sys.argv[1:])
