"""interleaved.py JARS FOLDER: Spark rewrites and deletes while Deltacap appends, one commit at a time; after every turn the rows are exact.

One committer of Deltacap lives through it all, so that it must rebase whenever Spark has committed; it says how often it met a
conflict. Spark's transactions are stopped when they have read their snapshot and done their work, right before their commit: there we
append. Such an append must not make OPTIMIZE fail, nor a DELETE of another date. A DELETE that would have had to read the new
rows must fail by name and change nothing: Delta's open-source writers know only the isolation level Serializable.
"""
import os
import random
import re
import sys
import traceback
from dataclasses import dataclass

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from pyspark.java_gateway import ensure_callback_server_started
from session import Deltacap, Report, spark_session

SEED = int(os.environ.get("DELTACAP_SEED", "20261130"))
DAYS = ["1969-12-31", "2026-01-02", "2026-01-03"]
VEHICLES = ["v1", "v2"]
PACKETS = 20
DELETION_VECTORS = "spark.databricks.delta.delete.deletionVectors.persistent"


class Meanwhile:
    """Calls `run` once in Spark's transaction, when it is about to commit. Delta's own tests stop transactions this way."""

    def __init__(self, run):
        self.run = run

    def startingTransaction(self, function):
        return function.apply()

    def preparingCommit(self, function):
        return function.apply()

    def beginDoCommit(self):
        run, self.run = self.run, None
        if run is not None:
            run()

    def createChild(self):
        return self

    def beginBackfill(self):
        pass

    beginPostCommit = transactionCommitted = transactionAborted = advanceToNextThreadObserver = beginBackfill

    class Java:
        implements = ["org.apache.spark.sql.delta.TransactionExecutionObserver"]


@dataclass(frozen=True)
class Row:
    capture: str
    packet_number: int
    date: str
    vehicle_id: str
    length: int


@dataclass
class Delete:
    """A condition, for Spark and for the model."""

    sql: str
    matches: object
    date: str | None


class Turns:
    def __init__(self, jars: str, folder: str):
        self.random = random.Random(SEED)
        self.report = Report()
        self.report.note(f"seed {SEED}")
        self.spark = spark_session(jars)
        self.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        # VACUUM lists folders in so many tasks, 10,000 where it is not told.
        self.spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "1")
        ensure_callback_server_started(self.spark.sparkContext._gateway)
        self.delta = self.spark.sparkContext._jvm.org.apache.spark.sql.delta
        self.deltacap = Deltacap(os.getcwd())
        self.path = os.path.join(folder, "interleaved")
        self.rows: set[Row] = set()
        self.captures = 0
        self.known = -1
        self.rebased = 0
        self.stopped = 0
        self.refused = 0

    # What we do.

    def append(self, what: str, day: str | None = None) -> None:
        """By the committer that lives on: it meets one conflict if others have committed since it did, however often."""
        self.captures += 1
        day, vehicle = day or self.random.choice(DAYS), self.random.choice(VEHICLES)
        name = f"c{self.captures}"
        behind = self.newest_version() != self.known
        answer = self.deltacap.ingest(self.path, name, day=day, vehicle=vehicle, packets=PACKETS)
        found = (answer["outcome"], answer.get("conflicts"))
        self.report.equal(f"{what}: append {name}: {answer.get('reason')}: outcome, conflicts", found, ("committed", int(behind)))
        self.known = answer["version"]
        self.rebased += behind
        for i, length in enumerate(answer["content"]["lengths"]):
            self.rows.add(Row(name, i + 1, day, vehicle, length))

    def restart(self, what: str) -> None:
        answer = self.deltacap.order(hold=self.path)
        self.report.equal(f"{what}: {answer}", answer["outcome"], "held")
        self.known = answer["version"]

    def ordered(self, what: str, command: str) -> None:
        answer = self.deltacap.order(run=[command, self.path])
        self.report.equal(f"{what}: {answer}", answer["exit"], 0)

    def newest_version(self) -> int:
        commits = (name for name in os.listdir(os.path.join(self.path, "_delta_log")) if re.fullmatch(r"\d{20}\.json", name))
        return max((int(name[:20]) for name in commits), default=-1)

    # What Spark does.

    def statement(self, sql: str, meanwhile=None) -> str | None:
        """Runs it, with `meanwhile` right before its commit; the name of the conflict that it failed with."""
        observers = self.delta.TransactionExecutionObserver
        before = observers.getObserver()
        observers.setObserver(Meanwhile(meanwhile))
        try:
            self.spark.sql(sql.format(t=f"delta.`{self.path}`")).collect()
        except Exception as error:
            conflict = re.search(r"Concurrent\w+Exception", str(error))
            if conflict is None:
                raise
            return conflict.group(0)
        finally:
            observers.setObserver(before)
        return None

    def stopped_statement(self, what: str, sql: str, day: str) -> str | None:
        """With an append of ours to that day while it is stopped."""
        appended = []

        def meanwhile():
            self.append(f"{what}, stopped", day)
            appended.append(day)

        conflict = self.statement(sql, meanwhile)
        self.report.equal(f"{what}: appends while it was stopped", len(appended), 1)
        self.stopped += 1
        return conflict

    def optimize(self, what: str, order: str = "") -> None:
        # Two files of one date, so that there is something to do.
        day = self.random.choice(DAYS)
        for _ in range(2):
            self.append(what, day)
        conflict = self.stopped_statement(what, "OPTIMIZE {t}" + order, self.random.choice(DAYS))
        self.report.equal(f"{what}: conflict", conflict, None)

    def delete(self, what: str, vectors: bool, kind: str) -> None:
        self.spark.conf.set(DELETION_VECTORS, str(vectors).lower())
        chosen = self.chosen_rows(kind)
        if chosen.date is None:
            day = self.random.choice(DAYS)
        elif kind == "into it":
            day = chosen.date
        else:
            day = self.random.choice([day for day in DAYS if day != chosen.date])
        must_fail = chosen.date in (None, day)
        sql = f"DELETE FROM {{t}} WHERE {chosen.sql}"
        conflict = self.stopped_statement(f"{what} WHERE {chosen.sql}", sql, day)
        self.report.equal(f"{what} WHERE {chosen.sql}: conflict", conflict, "ConcurrentAppendException" if must_fail else None)
        if must_fail:
            self.verify(f"{what}, refused")
            self.refused += 1
            self.report.equal(f"{what}: conflict, again", self.statement(sql), None)
        self.rows = {row for row in self.rows if not chosen.matches(row)}

    def delete_and_purge(self, what: str) -> None:
        self.delete(what, True, "elsewhere")
        conflict = self.stopped_statement(what, "REORG TABLE {t} APPLY (PURGE)", self.random.choice(DAYS))
        self.report.equal(f"{what}: conflict of REORG", conflict, None)

    def chosen_rows(self, kind: str) -> Delete:
        """That it deletes something is made sure by a row that is there."""
        row = self.random.choice(sorted(self.rows, key=lambda row: (row.capture, row.packet_number)))
        if kind == "all dates":
            number = row.packet_number
            return Delete(f"packet_number = {number}", lambda row: row.packet_number == number, None)
        date, vehicle, rest = row.date, row.vehicle_id, row.packet_number % 3
        return Delete(
            f"date = '{date}' AND vehicle_id = '{vehicle}' AND packet_number % 3 = {rest}",
            lambda row: row.date == date and row.vehicle_id == vehicle and row.packet_number % 3 == rest,
            date,
        )

    def checkpoint_by_spark(self) -> None:
        self.delta.DeltaLog.forTable(self.spark._jsparkSession, self.path).checkpoint()

    # What is there.

    def verify(self, what: str) -> None:
        columns = "regexp_extract(capture, '([^/]+)[.]pcapng$', 1), packet_number, string(date), vehicle_id, octet_length(frame)"
        by_spark = [Row(*row) for row in self.spark.sql(f"SELECT {columns} FROM delta.`{self.path}`").collect()]
        self.same_rows(f"{what}: Spark", by_spark)
        query = QueryBuilder().register("t", DeltaTable(self.path))
        found = pa.table(query.execute("SELECT capture, packet_number, date, vehicle_id, frame FROM t").read_all())
        names = [capture.rsplit("/", 1)[1].removesuffix(".pcapng") for capture in found["capture"].to_pylist()]
        dates = [str(date) for date in found["date"].to_pylist()]
        lengths = [len(frame) for frame in found["frame"].to_pylist()]
        lists = [names, found["packet_number"].to_pylist(), dates, found["vehicle_id"].to_pylist(), lengths]
        self.same_rows(f"{what}: deltalake", [Row(*row) for row in zip(*lists)])

    def same_rows(self, what: str, found: list) -> None:
        twice = len(found) - len(set(found))
        missing, more = list(self.rows - set(found))[:3], list(set(found) - self.rows)[:3]
        self.report.equal(f"{what}: rows twice, missing, too many", (twice, missing, more), (0, [], []))

    def all(self) -> None:
        self.restart("the first, which makes the table")
        for day in DAYS:
            self.append("the first", day)
        turns = [
            ("Spark's OPTIMIZE", lambda what: self.optimize(what)),
            ("Spark's OPTIMIZE ZORDER BY", lambda what: self.optimize(what, " ZORDER BY (packet_number)")),
            ("DELETE by copy", lambda what: self.delete(what, False, "elsewhere")),
            ("DELETE by copy, appended into it", lambda what: self.delete(what, False, "into it")),
            ("DELETE by deletion vectors", lambda what: self.delete(what, True, "elsewhere")),
            ("DELETE by deletion vectors of all dates", lambda what: self.delete(what, True, "all dates")),
            ("DELETE by deletion vectors, and REORG", self.delete_and_purge),
            ("Spark's checkpoint", lambda _: self.checkpoint_by_spark()),
            ("our checkpoint", lambda what: self.ordered(what, "checkpoint")),
            ("our optimize", lambda what: self.ordered(what, "optimize")),
            ("a new committer", lambda what: self.restart(what)),
        ]
        self.random.shuffle(turns)
        # Deletion vectors come by Spark's way, while our committer holds a snapshot of the time before.
        enable = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        self.report.equal("ALTER TABLE: conflict", self.stopped_statement("ALTER TABLE", enable, DAYS[0]), None)
        for number, (name, turn) in enumerate(turns):
            what = f"turn {number}, {name}"
            self.append(what)
            turn(what)
            self.append(what)
            self.verify(what)
            self.report.note(f"{what}: {len(self.rows)} rows at version {self.newest_version()}")
        self.statement("VACUUM {t} RETAIN 0 HOURS")
        self.append("Spark's VACUUM")
        self.verify("Spark's VACUUM")


def main(jars: str, folder: str) -> None:
    turns = Turns(jars, folder)
    try:
        turns.all()
    except Exception as error:
        traceback.print_exc(limit=4)
        turns.report.equal(str(error)[:2000], "an error", "none")
    turns.deltacap.close()
    turns.spark.stop()
    turns.report.note(
        f"{turns.captures} appends of ours, {turns.rebased} of them rebased, {turns.stopped} in the middle of Spark's transactions, of which {turns.refused} had to fail"
    )
    turns.report.finish("turns with Spark")


if __name__ == "__main__":
    main(*sys.argv[1:])
