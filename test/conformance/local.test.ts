import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConditionalLogStore } from "@deltacap/delta";
import { FolderObjectStore } from "@deltacap/delta/folder";
import { FolderLedger } from "../../src/local/folder-ledger.ts";
import { ledgerConformance } from "./ledger.ts";
import { logStoreConformance } from "./log-store.ts";
import { objectStoreConformance } from "./object-store.ts";

async function temporaryFolder() {
  const folder = await mkdtemp(join(tmpdir(), "deltacap-"));
  return { folder, close: async () => await rm(folder, { recursive: true, force: true }) };
}

objectStoreConformance("folder", async () => {
  const { folder, close } = await temporaryFolder();
  // The table's folder itself is made by the first write.
  const root = join(folder, "table");
  return { store: new FolderObjectStore(root), another: () => new FolderObjectStore(root), close };
});

logStoreConformance("conditional, on a folder", async () => {
  const { folder, close } = await temporaryFolder();
  const store = new FolderObjectStore(folder);
  return {
    log: new ConditionalLogStore(store),
    another: () => new ConditionalLogStore(new FolderObjectStore(folder)),
    putFile: async (name, body) => await store.put(`_delta_log/${name}`, body),
    close,
  };
});

ledgerConformance("folder", async () => {
  const { folder, close } = await temporaryFolder();
  return { ledger: new FolderLedger(folder), another: () => new FolderLedger(folder), close };
});
