import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Every folder and file below `root`, with the files' SHA-256: equal where nothing was written, renamed or removed. */
export function folderContent(root: string): Record<string, string> {
  const content: Record<string, string> = {};
  const entries = readdirSync(root, { withFileTypes: true, recursive: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    content[path.slice(root.length)] = entry.isDirectory()
      ? "folder"
      : createHash("sha256").update(readFileSync(path)).digest("hex");
  }
  return content;
}
