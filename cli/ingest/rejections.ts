import { relative, resolve, sep } from "node:path";

/** Captures rejected for one kind of reason that are all named. */
const MAX_NAMED = 20;
/** Captures that are named where there are more. */
const MAX_EXAMPLES = 3;

interface Rejection {
  readonly reason: string;
}

/** Rejections of one kind: those to name, and how many more there are. */
export interface RejectionGroup<T extends Rejection> {
  readonly kind: string;
  readonly named: readonly T[];
  readonly unnamed: number;
}

/** Groups rejections by what their reasons say before the first colon, in order of first appearance. */
export function groupRejections<T extends Rejection>(rejections: readonly T[]): RejectionGroup<T>[] {
  const groups = new Map<string, T[]>();
  for (const rejection of rejections) {
    const kind = kindOf(rejection.reason);
    const group = groups.get(kind);
    if (group === undefined) groups.set(kind, [rejection]);
    else group.push(rejection);
  }
  return [...groups].map(([kind, all]) => {
    const named = all.length <= MAX_NAMED ? all : all.slice(0, MAX_EXAMPLES);
    return { kind, named, unnamed: all.length - named.length };
  });
}

/** Numbers differ from capture to capture. */
function kindOf(reason: string): string {
  const [kind = reason] = reason.split(":", 1);
  return kind.replaceAll(/\d[\d,.]*/g, "N");
}

/**
 * Returns the name of a folder below `roots` that holds at least half of the rejected files and none of the others, or null. Of
 * several, the one with the most files, then the one nearest to its root.
 */
export function folderToExclude(
  rejected: readonly string[],
  others: readonly string[],
  roots: readonly string[],
): string | null {
  const folders = roots.map((root) => resolve(root));
  // With the files' own names: a pattern matches these too.
  const innocent = new Set(others.flatMap((path) => segmentsOf(path, folders)));
  const counts = new Map<string, number>();
  for (const path of rejected) {
    for (const name of new Set(segmentsOf(path, folders).slice(0, -1))) {
      if (!innocent.has(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  // Names were counted from the root down, so that of equal counts the first is the outermost.
  const [best] = [...counts].sort(([, a], [, b]) => b - a);
  return best !== undefined && best[1] * 2 >= rejected.length && /^[\w.@ -]+$/.test(best[0]) ? best[0] : null;
}

function segmentsOf(path: string, roots: readonly string[]): string[] {
  const root = roots.find((folder) => path.startsWith(folder.endsWith(sep) ? folder : folder + sep));
  return root === undefined ? [] : relative(root, path).split(sep);
}
