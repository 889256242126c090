"""The independent second writer: deltalake 1.6.0, which keeps Spark's DynamoDB log store, or a later one, which commits by
conditional puts alone. Called by second-writer.test.ts.

second_writer.py create|append|optimize|read URI ENDPOINT LOG_TABLE|- [FIRST COUNT]
`optimize` compacts the table again and again until it has COUNT versions that were not its own, each time whatever is there.
"""
import json
import os
import sys
import time
import warnings

from arro3.core import Array, DataType, Field, Schema, Table
from deltalake import DeltaTable, QueryBuilder, write_deltalake

warnings.filterwarnings("ignore")
SCHEMA = Schema([Field("id", DataType.int64(), nullable=True)])


def rows(ids):
    return Table.from_arrays([Array(ids, DataType.int64())], schema=SCHEMA)


def is_conflict(error):
    return "already exists" in str(error) or "conflict" in str(error).lower()


def main(action, uri, endpoint, log_table, *numbers):
    options = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ENDPOINT_URL_DYNAMODB": os.environ.get("DELTACAP_DYNAMODB_ENDPOINT", endpoint),
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    if log_table != "-":
        options |= {"AWS_S3_LOCKING_PROVIDER": "dynamodb", "DELTA_DYNAMO_TABLE_NAME": log_table}
    started = time.monotonic()
    if action == "create":
        write_deltalake(uri, rows([]), storage_options=options)
    elif action == "append":
        first, count = map(int, numbers)
        for number in range(first, first + count):
            for _ in range(200):
                try:
                    write_deltalake(uri, rows([number]), mode="append", storage_options=options)
                    break
                except Exception as error:  # the library gives up after some conflicts: nothing was written
                    if not is_conflict(error):
                        raise
            else:
                raise RuntimeError(f"row {number} met too many conflicts")
    elif action == "optimize":
        _, count = map(int, numbers)
        own = 0
        others = 0
        while others < count:
            try:
                table = DeltaTable(uri, storage_options=options)
                others = table.version() - own
                if table.optimize.compact()["numFilesAdded"] > 0:
                    own += 1
                else:
                    time.sleep(0.05)
            except Exception as error:  # the library does not plan anew when another writer took its version
                if not is_conflict(error):
                    raise
    seconds = time.monotonic() - started
    table = DeltaTable(uri, storage_options=options)
    result = {"version": table.version(), "seconds": seconds}
    if action == "read":
        found = QueryBuilder().register("packets", table).execute("select id from packets order by id").read_all()
        result["ids"] = [value.as_py() for value in found["id"]]
    print(json.dumps(result))


main(*sys.argv[1:])
