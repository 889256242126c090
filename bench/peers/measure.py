"""Runs a command and measures it and what it started: `measure.py RESULT.json OUT.txt COMMAND...`. CPU time and peak memory of
another process are what Node cannot tell."""

import json
import os
import sys
import time

result, output, *command = sys.argv[1:]
started = time.monotonic()
pid = os.fork()
if pid == 0:
    os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 1)
    os.execvp(command[0], command)
_, status, usage = os.wait4(pid, 0)
with open(result, "w") as file:
    json.dump(
        {
            "wallMs": (time.monotonic() - started) * 1000,
            "cpuMs": (usage.ru_utime + usage.ru_stime) * 1000,
            # Kilobytes on Linux.
            "peakMB": usage.ru_maxrss / 1024,
        },
        file,
    )
sys.exit(os.waitstatus_to_exitcode(status))
