export { FolderObjectStore } from "./stores/folder/folder-object-store.ts";
export { isNotFound, translated } from "./stores/folder/system-errors.ts";
