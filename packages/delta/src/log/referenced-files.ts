import type { Add, Remove } from "../actions/actions.ts";
import { decodedText, isAbsolutePath, objectPath } from "../actions/object-path.ts";
import { deletionVectorPath } from "../vectors/deletion-vector-path.ts";

/**
 * Paths of files that versions of the table refer to, as the store names them. Memory: the paths.
 *
 * A path that is absolute may lie in the table's folder, of which the full name is not known here: any file in the folder whose
 * path it ends in counts as referred to.
 */
export class ReferencedFiles {
  readonly #paths = new Set<string>();

  /**
   * The data file of the action, and the file of its deletion vector if it has one. Throws `TableRefusedError` where it is not
   * clear which file is meant.
   */
  add({ path, deletionVector }: Pick<Add | Remove, "path" | "deletionVector">): void {
    if (isAbsolutePath(path)) this.#addAbsolute(decodedText(path));
    else this.#paths.add(objectPath(path));
    const vector = deletionVectorPath(deletionVector, path);
    if (vector === null) return;
    if (vector.isAbsolute) this.#addAbsolute(vector.path);
    else this.#paths.add(vector.path);
  }

  has(path: string): boolean {
    return this.#paths.has(path);
  }

  /** Every path that it ends in, however many slashes or dots stand before or in between. */
  #addAbsolute(path: string): void {
    const names = path.split("/").filter((name) => name !== "" && name !== ".");
    for (let at = 0; at < names.length; at++) this.#paths.add(names.slice(at).join("/"));
  }
}
