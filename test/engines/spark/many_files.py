"""many_files.py JARS TABLE FILES: Spark and deltalake find so many files in a table whose log begins at its checkpoint, and the same dates."""
import collections
import sys

import pyarrow as pa
from deltalake import DeltaTable
from session import Report, spark_session


def main(jars: str, path: str, files: str) -> None:
    report = Report()
    by_deltalake = pa.table(DeltaTable(path).get_add_actions(flatten=True))
    report.equal("files, by deltalake", by_deltalake.num_rows, int(files))
    report.note("deltalake")
    dates = collections.Counter(str(date) for date in by_deltalake["partition.date"].to_pylist())
    spark = spark_session(jars)
    detail = spark.sql(f"DESCRIBE DETAIL delta.`{path}`").collect()[0]
    report.equal("files, by Spark", detail["numFiles"], int(files))
    report.equal("bytes, by Spark", detail["sizeInBytes"], sum(by_deltalake["size_bytes"].to_pylist()))
    date, count = min(dates.items(), key=lambda entry: entry[1])
    of_date = spark.read.format("delta").load(path).where(f"date = '{date}'")
    report.equal(f"files of {date}, by Spark", len(of_date.inputFiles()), count)
    report.note(f"Spark; {len(dates)} dates, the smallest has {count} files")
    spark.stop()
    report.finish(f"a checkpoint of {files} files")


if __name__ == "__main__":
    main(*sys.argv[1:])
