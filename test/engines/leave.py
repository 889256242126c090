"""How a script ends that has read a table through deltalake's pyarrow dataset."""
import os
import sys


def leave(code: int) -> None:
    """Ends the process at once.

    Arrow's threads call back into Python for deltalake's files and may still do so when the interpreter is taken down around
    them: the process then aborts ("terminate called without an active exception"), one in four times on a loaded machine.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
