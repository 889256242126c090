import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";

/** What tells a process from any other, on this machine and elsewhere. Null: the system does not say. */
export interface ProcessIdentity {
  readonly host: string;
  /** /etc/machine-id. */
  readonly machine: string | null;
  /** Another one after each start of the machine. */
  readonly boot: string | null;
  /** Containers number their processes for themselves. */
  readonly pidNamespace: string | null;
  readonly pid: number;
  /** Clock ticks from the machine's start to the process's. */
  readonly started: string | null;
}

/** Returns the identity of a process of this machine, by default this one. */
export async function processIdentity(pid = process.pid): Promise<ProcessIdentity> {
  const [machine, boot, pidNamespace, started] = await Promise.all([
    textOf("/etc/machine-id"),
    textOf("/proc/sys/kernel/random/boot_id"),
    readlink("/proc/self/ns/pid").catch(() => null),
    startOf(pid),
  ]);
  return { host: hostname(), machine, boot, pidNamespace, pid, started };
}

/** True where the process has certainly ended; false where it runs, and where this machine cannot know it. */
export async function hasEnded(of: ProcessIdentity): Promise<boolean> {
  const here = await processIdentity(of.pid);
  if (of.host !== here.host || of.machine !== here.machine) return false;
  if (of.boot !== here.boot) return of.machine !== null && of.boot !== null && here.boot !== null;
  if (of.pidNamespace !== here.pidNamespace) return false;
  if (!isRunning(of.pid)) return true;
  return of.started !== null && here.started !== null && of.started !== here.started;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs, for another user.
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}

/** Field 22 of /proc/PID/stat (proc(5)): the second one, the program's name, may hold spaces and parentheses. */
async function startOf(pid: number): Promise<string | null> {
  const text = await textOf(`/proc/${pid}/stat`);
  return text?.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? null;
}

async function textOf(path: string): Promise<string | null> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text.trim() || null;
}
