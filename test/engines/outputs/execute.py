"""execute.py put TABLE | read FILE: puts a table's files into s3://the-lake/packets, or executes an output of the stack word for word.

The statement in FILE is run as at Python's prompt, where its last expression is shown; the number of its rows is printed.
"""
import os
import pathlib
import sys


def put(table):
    import boto3

    s3 = boto3.client("s3", endpoint_url=os.environ["DELTACAP_S3_ENDPOINT"])
    s3.create_bucket(Bucket="the-lake", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    root = pathlib.Path(table)
    for path in root.rglob("*"):
        if path.is_file() and "_deltacap" not in path.parts:
            s3.upload_file(str(path), "the-lake", f"packets/{path.relative_to(root)}")


def read(file, names):
    shown = []
    sys.displayhook = shown.append
    for line in pathlib.Path(file).read_text().splitlines():
        exec(compile(line, file, "single"), names)
    dataset = shown[-1]
    print("rows", dataset.count_rows() if hasattr(dataset, "count_rows") else dataset.count())


def spark_session():
    from pyspark.sql import SparkSession

    session = SparkSession.builder.getOrCreate()
    print("read only:", session.conf.get("spark.deltacap.readOnly", "no"))
    return session


if __name__ == "__main__":
    if sys.argv[1] == "put":
        put(sys.argv[2])
    elif sys.argv[2].endswith("SparkRead"):
        read(sys.argv[2], {"spark": spark_session()})
    else:
        read(sys.argv[2], {})
