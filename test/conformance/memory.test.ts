import { ConditionalLogStore } from "@deltacap/delta";
import { ManualClock } from "../support/aws/clock.ts";
import { MemoryLedger } from "../support/memory/memory-ledger.ts";
import { MemoryManifestQueue } from "../support/memory/memory-manifest-queue.ts";
import { MemoryObjectStore } from "../support/memory/memory-object-store.ts";
import { ledgerConformance } from "./ledger.ts";
import { logStoreConformance } from "./log-store.ts";
import { manifestQueueConformance } from "./manifest-queue.ts";
import { objectStoreConformance } from "./object-store.ts";

const close = async () => {};

objectStoreConformance("memory", async () => {
  const store = new MemoryObjectStore();
  return { store, another: () => store, close };
});

logStoreConformance("conditional, in memory", async () => {
  const store = new MemoryObjectStore();
  return {
    log: new ConditionalLogStore(store),
    another: () => new ConditionalLogStore(store),
    putFile: async (name, body) => await store.put(`_delta_log/${name}`, body),
    close,
  };
});

ledgerConformance("memory", async () => {
  const ledger = new MemoryLedger();
  return { ledger, another: () => ledger, close };
});

manifestQueueConformance("memory", async () => {
  const queue = new MemoryManifestQueue(new ManualClock());
  return { queue, another: () => queue, deadLetters: async () => queue.deadLetters, close };
});
