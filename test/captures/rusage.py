"""rusage.py COMMAND...: runs a command and prints, last on standard output, its exit code, CPU seconds and peak megabytes."""
import os
import sys

child = os.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print(f"\n{os.waitstatus_to_exitcode(status)} {usage.ru_utime + usage.ru_stime:.3f} {usage.ru_maxrss / 1024:.0f}")
