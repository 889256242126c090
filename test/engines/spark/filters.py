"""Filters as each engine wants them, and a deltalake that answers them.

filters.py, as a process in the environment of another deltalake: answers each line {"path", "filters": [[column, low, high, kind], ...]}
with a line {"sums": of a full scan, "filters": [[rows, captured_length, files], ...]}.
"""
import json
import os
import subprocess
import sys

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from leave import leave  # noqa: E402
from read_table import arrow_sums  # noqa: E402


class Filter:
    """Rows whose column lies within [low, high]; None: where it is null."""

    def __init__(self, column: str, low, high, kind: str = ""):
        self.column, self.low, self.high, self.kind = column, low, high, kind

    def sql(self) -> str:
        if self.low is None:
            return f"{self.column} IS NULL"
        low, high = (f"{self.kind} '{value}'" if isinstance(value, str) else value for value in (self.low, self.high))
        return f"{self.column} >= {low} AND {self.column} <= {high}"

    def arrow(self, schema: pa.Schema):
        field = ds.field(self.column)
        if self.low is None:
            return field.is_null()
        low, high = (pa.scalar(value).cast(self.scalar_type(schema)) for value in (self.low, self.high))
        return (field >= low) & (field <= high)

    def scalar_type(self, schema: pa.Schema) -> pa.DataType:
        kind = schema.field(self.column).type
        return kind.value_type if pa.types.is_dictionary(kind) else kind


def sums_of(dataset: ds.Dataset, chosen: Filter) -> tuple:
    """Rows, and the sum of their captured lengths."""
    table = dataset.to_table(filter=chosen.arrow(dataset.schema), columns=["captured_length"])
    return (table.num_rows, pc.sum(table["captured_length"]).as_py() or 0)


def files_of_filter(dataset: ds.Dataset, chosen: Filter) -> int:
    """How many files deltalake's own statistics leave to be read."""
    return len(list(dataset.get_fragments(filter=chosen.arrow(dataset.schema))))


class OtherDeltalake:
    """Asks the deltalake of another environment."""

    def __init__(self, python: str):
        command = [python, os.path.abspath(__file__)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = json.loads(self.process.stdout.readline())

    def answer(self, path: str, filters: list) -> dict:
        values = [[chosen.column, chosen.low, chosen.high, chosen.kind] for chosen in filters]
        self.process.stdin.write(json.dumps({"path": path, "filters": values}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line == "":
            raise RuntimeError(f"deltalake {self.version} ended with {self.process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    print(json.dumps(deltalake.__version__), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        dataset = deltalake.DeltaTable(order["path"]).to_pyarrow_dataset()
        filters = [Filter(*values) for values in order["filters"]]
        answers = [[*sums_of(dataset, chosen), files_of_filter(dataset, chosen)] for chosen in filters]
        print(json.dumps({"sums": arrow_sums(dataset.to_table()), "filters": answers}), flush=True)


if __name__ == "__main__":
    main()
    leave(0)
