"""deployment.py STEP: one step of the check that a deployed stack does what it should; see .ci/phases/deploy.sh.

Environment: AWS_ENDPOINT_URL and the usual AWS variables; OUTPUTS, the file of `cdk deploy --outputs-file`; STAGE, a folder with
captures (below `first`, `second`, `stream`) and the tables that the command line made of them (`first-table`, `both-table`).
Exit code 1, and what differs, when something is not as it should be.
"""
import base64
import hashlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import boto3
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

sys.path.insert(0, str(Path(__file__).parent.parent / "engines"))
from leave import leave  # noqa: E402

STAGE = Path(os.environ["STAGE"])
OUTPUTS = next(iter(json.loads(Path(os.environ["OUTPUTS"]).read_text()).values()))
BUCKET = OUTPUTS["CaptureBucket"]
TABLE_BUCKET, TABLE_PREFIX = OUTPUTS["TableUri"].removeprefix("s3://").split("/", 1)
# Seconds for captures to become rows: a committer a minute, and functions that share two cores with everything else.
PATIENCE = 300
# Seconds of the steady stream, and between two uploads.
STREAM, STREAM_INTERVAL = 120, 2
# What differs between a table on a laptop and one in the cloud.
OWN_COLUMNS = {"capture", "source_id", "ingested_at"}

s3, sqs, dynamodb, functions = (boto3.client(name) for name in ("s3", "sqs", "dynamodb", "lambda"))


def upload(folder):
    """Puts every file of the folder under its path; returns the keys."""
    keys = []
    for path in sorted((STAGE / folder).rglob("*")):
        if path.is_file():
            keys.append(str(path.relative_to(STAGE / folder)))
            s3.upload_file(str(path), BUCKET, keys[-1])
    return keys


def cloud_table():
    options = {"AWS_ENDPOINT_URL": os.environ["AWS_ENDPOINT_URL"], "AWS_ALLOW_HTTP": "true"}
    return DeltaTable(OUTPUTS["TableUri"], storage_options=options)


def rows_of(table, folders):
    """All rows, sorted, with the capture as its path below the folder it came from."""
    rows = table.to_pyarrow_table()
    roots = [f"s3://{BUCKET}/"] + [(STAGE / folder).as_uri() + "/" for folder in folders]

    def key(uri):
        return next(uri.removeprefix(root) for root in roots if uri.startswith(root))

    keys = pa.array([key(uri) for uri in rows["capture"].to_pylist()])
    rows = rows.select([name for name in rows.schema.names if name not in OWN_COLUMNS]).append_column("key", keys)
    return rows.sort_by([(name, "ascending") for name in ("key", "packet_number", "record_number")])


def wait_for(what, found):
    """Asks until `found` is true; ends the check when patience is over."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if found():
            return
        time.sleep(2)
    sys.exit(f"{what}: not within {PATIENCE} s")


def row_count():
    try:
        return cloud_table().to_pyarrow_table(columns=["packet_number"]).num_rows
    except Exception as error:  # deltalake has one error for "no table yet" and others
        print("not yet:", str(error)[:200])
        return 0


def same_rows_as(local, folders):
    """The rows are those of the command line's table: each once, every value equal."""
    expected = rows_of(DeltaTable(str(STAGE / local)), folders)
    wait_for(f"{expected.num_rows} rows", lambda: row_count() >= expected.num_rows)
    queues_are_empty()
    rows = rows_of(cloud_table(), folders).select(expected.schema.names).cast(expected.schema)
    if rows.num_rows != expected.num_rows:
        sys.exit(f"{rows.num_rows} rows where {expected.num_rows} are expected")
    different = [name for name in expected.schema.names if not rows[name].equals(expected[name])]
    if different:
        sys.exit(f"columns differ from what the command line writes: {different}")
    print(f"note {rows.num_rows} rows of {len(set(rows['key'].to_pylist()))} captures, equal to the command line's; version {cloud_table().version()}")


def waiting(url):
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(value) for value in attributes.values())


def queues_are_empty():
    """Nothing waits any more, and nothing was given up."""
    urls = [OUTPUTS["CaptureQueueUrl"], OUTPUTS["ManifestQueueUrl"]]
    wait_for("empty queues", lambda: all(waiting(url) == 0 for url in urls))
    for name in ("CaptureDeadLetterUrl", "ManifestDeadLetterUrl"):
        if waiting(OUTPUTS[name]):
            messages = sqs.receive_message(QueueUrl=OUTPUTS[name], MessageAttributeNames=["All"], VisibilityTimeout=0)
            sys.exit(f"{name} holds {json.dumps(messages.get('Messages'))[:2000]}")


def first():
    """Uploads come twice, and three committers run at once: every row once all the same."""
    keys = upload("first")
    for key in keys[:5]:
        s3.upload_file(str(STAGE / "first" / key), BUCKET, key)
    for _ in range(2):
        functions.invoke(FunctionName=OUTPUTS["CommitterFunction"], InvocationType="Event")
    same_rows_as("first-table", ["first"])


def second():
    """After an update of the stack; with one committer, which ministack leaves out of the template."""
    functions.put_function_concurrency(FunctionName=OUTPUTS["CommitterFunction"], ReservedConcurrentExecutions=1)
    memory = functions.get_function_configuration(FunctionName=OUTPUTS["ConverterFunction"])["MemorySize"]
    if memory != 2048:
        sys.exit(f"the update did not arrive: the converter has {memory} MB")
    upload("second")
    same_rows_as("both-table", ["first", "second"])


def maintenance():
    """The maintenance function runs, and leaves a checkpoint that delta-rs starts from: the same rows."""
    answer = functions.invoke(FunctionName=OUTPUTS["MaintenanceFunction"])
    if "FunctionError" in answer:
        sys.exit(f"maintenance failed: {answer['Payload'].read()[:2000]}")
    hint = s3.get_object(Bucket=TABLE_BUCKET, Key=f"{TABLE_PREFIX}/_delta_log/_last_checkpoint")["Body"].read()
    same_rows_as("both-table", ["first", "second"])
    print(f"note checkpoint: {hint.decode()[:200]}")


def source_id(key, etag, size):
    """The id of the table's `source_id`, by which commits name what they add."""
    text = json.dumps([BUCKET, key, etag, size], separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()[:16]


class Watch(threading.Thread):
    """Sees versions as they become readable, and when each source did."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen = {}
        self.next = cloud_table().version() + 1

    def run(self):
        while True:
            key = f"{TABLE_PREFIX}/_delta_log/{self.next:020d}.json"
            try:
                body = s3.get_object(Bucket=TABLE_BUCKET, Key=key)["Body"].read().decode()
            except s3.exceptions.NoSuchKey:
                time.sleep(0.2)
                continue
            now = time.monotonic()
            info = next(json.loads(line)["commitInfo"] for line in body.splitlines() if "commitInfo" in line)
            packed = base64.b64decode(info.get("tags", {}).get("deltacap.sources", ""))
            for at in range(0, len(packed), 16):
                self.seen.setdefault(packed[at : at + 16], now)
            self.next += 1


def stream():
    """A capture every other second for two minutes: how long until its rows can be read?"""
    # At its limit ministack drops a scheduled call, where Lambda keeps it for the minute that the template gives it.
    functions.delete_function_concurrency(FunctionName=OUTPUTS["CommitterFunction"])
    watch = Watch()
    watch.start()
    uploaded = {}
    body = next((STAGE / "stream").iterdir()).read_bytes()
    start = time.monotonic()
    for n in range(STREAM // STREAM_INTERVAL):
        time.sleep(max(0, start + n * STREAM_INTERVAL - time.monotonic()))
        key = f"car-{n % 7}/stream/{n}.pcap"
        etag = s3.put_object(Bucket=BUCKET, Key=key, Body=body)["ETag"].strip('"')
        uploaded[source_id(key, etag, len(body))] = time.monotonic()
    wait_for("every capture of the stream", lambda: all(source in watch.seen for source in uploaded))
    ages = sorted(watch.seen[source] - uploaded[source] for source in uploaded)
    p99 = statistics.quantiles(ages, n=100, method="inclusive")[98]
    print(f"note upload to row, {len(ages)} captures in {STREAM} s: median {statistics.median(ages):.1f} s, 99th percentile {p99:.1f} s, longest {ages[-1]:.1f} s")


FORGOTTEN = "car-5"
# Uploads while the vehicle is being forgotten.
MEANWHILE = 5


def forgotten():
    """A vehicle is forgotten by the command line while others upload: none of its rows is left, and every other row as it was."""
    before = rows_of(cloud_table(), [])
    is_theirs = pc.equal(before["vehicle_id"], FORGOTTEN)
    theirs, others = before.filter(is_theirs), before.filter(pc.invert(pc.fill_null(is_theirs, False)))
    body = next((STAGE / "stream").iterdir()).read_bytes()

    def upload_meanwhile():
        for n in range(MEANWHILE):
            s3.put_object(Bucket=BUCKET, Key=f"car-3/meanwhile/{n}.pcap", Body=body)
            time.sleep(1)

    uploads = threading.Thread(target=upload_meanwhile)
    uploads.start()
    command = ["node", "dist/cli/main.js", "forget", "--stack", "Deltacap", "--vehicle", FORGOTTEN, "--json"]
    answer = subprocess.run(command, capture_output=True, text=True)
    uploads.join()
    if answer.returncode != 0:
        sys.exit(f"forget exited {answer.returncode}: {answer.stdout[-1000:]} {answer.stderr[-2000:]}")
    result = json.loads(answer.stdout.splitlines()[-1])
    if result["rows"] != theirs.num_rows or theirs.num_rows == 0 or result["remaining"]:
        sys.exit(f"{theirs.num_rows} rows were to be forgotten: {result}")
    more = MEANWHILE * cloud_rows_of_one_stream_capture()
    wait_for("the rows of what was uploaded meanwhile", lambda: row_count() >= others.num_rows + more)
    queues_are_empty()
    after = rows_of(cloud_table(), [])
    meanwhile = pc.starts_with(after["key"], "car-3/meanwhile/")
    if FORGOTTEN in after["vehicle_id"].to_pylist() or after.filter(meanwhile).num_rows != more:
        sys.exit(f"rows of {FORGOTTEN} are left, or {after.filter(meanwhile).num_rows} rows of the uploads where {more} are expected")
    if not after.filter(pc.invert(meanwhile)).equals(others):
        sys.exit("rows of other vehicles are not what they were")
    print(f"note {result['rows']} rows of {FORGOTTEN} forgotten in {result['commits']} commits, {others.num_rows} of others as they were")


def kept():
    """The stack is gone; what it stored is not."""
    names = {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}
    tables = set(dynamodb.list_tables()["TableNames"])
    missing = {BUCKET, TABLE_BUCKET} - names | {OUTPUTS["LogTable"], OUTPUTS["LedgerTable"]} - tables
    if missing:
        sys.exit(f"gone with the stack: {missing}")
    keys = s3.list_objects_v2(Bucket=BUCKET)["KeyCount"]
    if row_count() == 0 or keys == 0:
        sys.exit(f"{row_count()} rows and {keys} captures are left")
    if any(function["FunctionName"] == OUTPUTS["CommitterFunction"] for function in functions.list_functions()["Functions"]):
        sys.exit("the committer is still there")
    print(f"note {row_count()} rows and {keys} captures are still there")


def notifications():
    answer = s3.get_bucket_notification_configuration(Bucket=BUCKET)
    return {item["QueueArn"].split(":")[-1]: item.get("Filter", {}) for item in answer.get("QueueConfigurations", [])}


def other_team():
    """Another team wants to hear of its own objects in the bucket; the notification of the stack that is gone goes with it."""
    queue = sqs.create_queue(QueueName="other-team")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    rules = [{"Name": "prefix", "Value": "other/"}]
    theirs = {"Id": "theirs", "QueueArn": arn, "Events": ["s3:ObjectCreated:*"], "Filter": {"Key": {"FilterRules": rules}}}
    s3.put_bucket_notification_configuration(Bucket=BUCKET, NotificationConfiguration={"QueueConfigurations": [theirs]})


def others_and_ours():
    """In a stack on the retained buckets: their notification stands beside ours."""
    if len(notifications()) != 2 or "other-team" not in notifications():
        sys.exit(f"notifications: {notifications()}")


def again():
    """The ledger is new and fills itself from the log: captures that come again add nothing, new ones do."""
    before = row_count()
    upload("first")
    s3.upload_file(str(next((STAGE / "stream").iterdir())), BUCKET, "car-new/one.pcap")
    one = cloud_rows_of_one_stream_capture()
    wait_for("the rows of a new capture", lambda: row_count() >= before + one)
    queues_are_empty()
    if row_count() != before + one:
        sys.exit(f"{row_count()} rows where {before + one} are expected: captures were ingested again")


def cloud_rows_of_one_stream_capture():
    captures = cloud_table().to_pyarrow_table(columns=["capture"])["capture"].to_pylist()
    return captures.count(f"s3://{BUCKET}/car-0/stream/0.pcap")


def others_alone():
    """The stack on existing buckets is gone: their notification is not."""
    if set(notifications()) != {"other-team"}:
        sys.exit(f"notifications: {notifications()}")


STEPS = (first, second, maintenance, stream, forgotten, kept, other_team, others_and_ours, again, others_alone)

if __name__ == "__main__":
    step = {step.__name__: step for step in STEPS}[sys.argv[1]]
    step()
    leave(0)
