"""Rows that Spark deletes under deletion vectors, and what Deltacap makes of their files; a model says which rows must be there."""
import base64
import glob
import json
import os
import shutil
import uuid

import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder

SUMS = "capture, count(*) AS n, sum(packet_number) AS sum, sum(packet_number * packet_number) AS squares, sum(captured_length) AS bytes"
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
TO_Z85, FROM_Z85 = str.maketrans(B85, Z85), str.maketrans(Z85, B85)


class DeletionVectors:
    def __init__(self, spark, deltacap, report, path: str):
        self.spark, self.deltacap, self.report, self.path = spark, deltacap, report, path
        self.table = f"delta.`{path}`"
        # By capture and packet number: the captured length.
        self.rows = {}

    def check(self) -> None:
        # 9,000 rows in a file make containers of each kind: arrays, bitmaps of more than 4,096 rows, runs.
        self.ingest("large", "v1", packets=9000)
        self.ingest("small", "v2", packets=60)
        self.ingest("other", "v1", packets=60, day="2026-01-03")
        self.spark.sql(f"ALTER TABLE {self.table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
        self.delete("packet_number = 5", lambda name, n: n == 5)
        self.delete("packet_number % 2 = 0", lambda name, n: n % 2 == 0)
        self.delete("packet_number BETWEEN 1001 AND 9000", lambda name, n: n > 1000)
        self.delete("capture LIKE '%small%' AND packet_number > 20", lambda name, n: name == "small" and n > 20)
        self.report.equal("vectors of all files", len(self.vectors()), 3)
        self.inline_vector("small")
        self.export("large")

        self.deltacap_does("optimize")
        # What is left of the third file is another date's, and more than a twentieth of its rows was deleted.
        self.report.equal("vectors after optimize", self.vectors(), [])
        self.same("after optimize")

        self.ingest("late", "v2", packets=60)
        self.delete("packet_number <= 9", lambda name, n: n <= 9)
        self.deltacap_does("forget", "--vehicle", "v2")
        self.rows = {key: value for key, value in self.rows.items() if key[0] not in ("small", "late")}
        self.same("after forget")

        self.delete("packet_number BETWEEN 11 AND 13", lambda name, n: 11 <= n <= 13)
        self.checkpointed()
        self.deltacap_does("vacuum", "--retention-hours", "0", "--allow-short-retention", "--delete")
        self.same("after vacuum")
        files = glob.glob(os.path.join(glob.escape(self.path), "**", "*.parquet"), recursive=True)
        data = [file for file in files if "_delta_log" not in file]
        vehicles = {v for file in data for v in pq.ParquetFile(file).read(["vehicle_id"])["vehicle_id"].to_pylist()}
        self.report.equal("vehicles in the bytes that vacuum left", vehicles, {"v1"})
        left = {os.path.basename(file) for file in glob.glob(os.path.join(glob.escape(self.path), "*.bin"))}
        self.report.equal("files of vectors that vacuum left", left, {file_of(vector) for vector in self.vectors()})

    def ingest(self, name: str, vehicle: str, **more) -> None:
        answer = self.deltacap.ingest(self.path, name, vehicle=vehicle, **more)
        if answer["outcome"] != "committed":
            raise RuntimeError(f"{name}: {answer}")
        for i, length in enumerate(answer["content"]["lengths"]):
            self.rows[name, i + 1] = length

    def delete(self, where: str, deletes) -> None:
        self.spark.sql(f"DELETE FROM {self.table} WHERE {where}")
        self.rows = {(name, n): length for (name, n), length in self.rows.items() if not deletes(name, n)}
        self.same(f"after DELETE WHERE {where}")

    def deltacap_does(self, command: str, *more: str) -> str:
        answer = self.deltacap.order(run=[command, self.path, *more])
        self.report.equal(f"{command}: exit ({answer.get('text', answer)})", answer.get("exit"), 0)
        return answer.get("text", "")

    def same(self, when: str, path: str = "") -> None:
        """All engines that know deletion vectors read the model's rows."""
        path = path or self.path
        sums = {}
        for (name, n), length in self.rows.items():
            count, total, squares, size = sums.get(name, (0, 0, 0, 0))
            sums[name] = (count + 1, total + n, squares + n * n, size + length)
        spark = [row.asDict() for row in self.spark.sql(f"SELECT {SUMS} FROM delta.`{path}` GROUP BY capture").collect()]
        self.report.equal(f"{when}: Spark", by_capture(spark), sums)
        ours = self.deltacap.order(run=["sql", path, f"SELECT {SUMS} FROM packets GROUP BY capture", "--json"])
        found = [json.loads(line) for line in ours["text"].splitlines()] if ours.get("exit") == 0 else ours
        self.report.equal(f"{when}: sql", by_capture(found) if isinstance(found, list) else found, sums)
        facts = json.loads(self.deltacap.order(run=["inspect", path, "--json"])["text"])
        self.report.equal(f"{when}: inspect", facts["rows"], len(self.rows))
        query = f"SELECT {SUMS} FROM packets GROUP BY capture"
        answer = QueryBuilder().register("packets", DeltaTable(path)).execute(query).read_all()
        columns = {name: [value.as_py() for value in answer[name]] for name in answer.schema.names}
        rows = [dict(zip(columns, values)) for values in zip(*columns.values())]
        self.report.equal(f"{when}: deltalake", by_capture(rows), sums)

    def actions(self, kind: str) -> dict:
        """The newest of each path, as the commits have them."""
        found = {}
        for commit in sorted(glob.glob(os.path.join(glob.escape(self.path), "_delta_log", "*.json"))):
            actions = [json.loads(line) for line in open(commit, encoding="utf-8")]
            for action in actions:
                if "remove" in action:
                    found.pop(action["remove"]["path"], None)
            found.update({action[kind]["path"]: action[kind] for action in actions if kind in action})
        return found

    def vectors(self) -> list:
        return [add["deletionVector"] for add in self.actions("add").values() if add.get("deletionVector")]

    def inline_vector(self, name: str) -> None:
        """Spark does not write vectors into the log, and reads them there: one of its vectors is put there, in its stead."""
        (add,) = [add for add in self.actions("add").values() if name_in(add, self.rows, name)]
        stored = add["deletionVector"]
        with open(os.path.join(self.path, file_of(stored)), "rb") as file:
            file.seek(stored["offset"] + 4)
            data = file.read(stored["sizeInBytes"])
        padded = data + bytes(-len(data) % 4)
        inline = {
            "storageType": "i",
            "pathOrInlineDv": base64.b85encode(padded).decode().translate(TO_Z85),
            "sizeInBytes": len(data),
            "cardinality": stored["cardinality"],
        }
        remove = {key: add[key] for key in ("path", "partitionValues", "size", "deletionVector")}
        remove |= {"deletionTimestamp": add["modificationTime"], "dataChange": False, "extendedFileMetadata": True}
        actions = [
            {"commitInfo": {"operation": "DELETE", "timestamp": add["modificationTime"]}},
            {"remove": remove},
            {"add": add | {"deletionVector": inline, "dataChange": False}},
        ]
        log = os.path.join(self.path, "_delta_log")
        version = len(glob.glob(os.path.join(glob.escape(log), "*.json")))
        with open(os.path.join(log, f"{version:020}.json"), "x", encoding="utf-8") as file:
            file.writelines(json.dumps(action) + "\n" for action in actions)
        self.same("with an inline vector")

    def export(self, name: str) -> None:
        """The capture, written again, has the packets that are left."""
        captures = [row[0] for row in self.spark.sql(f"SELECT DISTINCT capture FROM {self.table}").collect()]
        (capture,) = [capture for capture in captures if f"/{name}." in capture]
        output = f"{self.path}-{name}.pcapng"
        self.deltacap_does("export", "--capture", capture, "-o", output)
        facts = json.loads(self.deltacap.order(run=["inspect", output, "--json"])["text"])
        self.report.equal(f"packets of {name}, exported", facts["packets"], sum(key[0] == name for key in self.rows))

    def checkpointed(self) -> None:
        """A copy whose log begins at our checkpoint: it must say which vectors the files have."""
        self.deltacap_does("checkpoint")
        copy = f"{self.path}-checkpointed"
        shutil.copytree(self.path, copy)
        log = os.path.join(copy, "_delta_log")
        (checkpoint,) = glob.glob(os.path.join(glob.escape(log), "*.checkpoint.parquet"))
        for commit in glob.glob(os.path.join(glob.escape(log), "*.json")):
            if os.path.basename(commit) < os.path.basename(checkpoint):
                os.remove(commit)
        self.same("from the checkpoint alone", copy)


def by_capture(rows: list) -> dict:
    """By the capture's name: /.../v1/large.pcapng."""
    values = ("n", "sum", "squares", "bytes")
    return {os.path.basename(row["capture"]).split(".")[0]: tuple(int(row[v]) for v in values) for row in rows}


def name_in(add: dict, rows: dict, name: str) -> bool:
    """Whether the file is that of the capture alone: told by the rows that its vector leaves."""
    left = json.loads(add["stats"])["numRecords"] - (add.get("deletionVector") or {}).get("cardinality", 0)
    return left == sum(key[0] == name for key in rows)


def file_of(vector: dict) -> str:
    text = vector["pathOrInlineDv"][-20:].translate(FROM_Z85)
    return f"deletion_vector_{uuid.UUID(bytes=base64.b85decode(text))}.bin"
