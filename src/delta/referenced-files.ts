import type { Add, Remove } from "./actions.ts";
import { decodedPath } from "./commit-body.ts";
import { deletionVectorPath } from "./deletion-vector-path.ts";

/** `s3://bucket/...`, `file:/...`: a file that another table made, or this one under its full name. */
const ABSOLUTE = /^(?:[a-z][a-z0-9+.-]*:|\/)/i;

/**
 * Paths of files that versions of the table refer to, as the store names them. Memory: the paths.
 *
 * A path that is absolute may lie in the table's folder, of which the full name is not known here: any file in the folder whose
 * path it ends in counts as referred to.
 */
export class ReferencedFiles {
  readonly #paths = new Set<string>();

  /** The data file of the action, and the file of its deletion vector if it has one. */
  add({ path, deletionVector }: Pick<Add | Remove, "path" | "deletionVector">): void {
    this.#addPath(decodedPath(path));
    const vector = deletionVectorPath(deletionVector, path);
    if (vector !== null) this.#addPath(vector);
  }

  has(path: string): boolean {
    return this.#paths.has(path);
  }

  #addPath(path: string): void {
    this.#paths.add(path);
    if (!ABSOLUTE.test(path)) return;
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1))
      this.#paths.add(path.slice(at + 1));
  }
}
