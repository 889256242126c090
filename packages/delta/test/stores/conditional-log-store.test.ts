import { describe, expect, test } from "vitest";
import { commitBody } from "../../../../test/conformance/log-store.ts";
import { gated } from "../../../../test/support/memory/gated.ts";
import { MemoryObjectStore } from "../../../../test/support/memory/memory-object-store.ts";
import { CommitInDoubtError, RetryableError } from "../../src/errors.ts";
import { ConditionalLogStore } from "../../src/stores/conditional-log-store.ts";
import { commitFileName } from "../../src/stores/log-store.ts";

/** A log on a store of which one put, and perhaps every read, goes without an answer. */
function unsure(moment: "before" | "after", unreadable = false) {
  const store = new MemoryObjectStore();
  const lost = {
    pass: async (step: string, at: string) => {
      if (step === "store.putIfAbsent" && at === moment) throw new RetryableError("no answer to the put");
      if (step === "store.read" && unreadable) throw new RetryableError("no answer to the read");
    },
  };
  return { store, log: new ConditionalLogStore(gated(store, "store", lost)) };
}

describe("a put whose answer is lost", () => {
  test("has committed when the version is there and is our own", async () => {
    const { log } = unsure("after");
    expect(await log.commit(0, commitBody("mine"))).toBe("committed");
  });

  test("has lost when the version is somebody else's", async () => {
    const { log, store } = unsure("before");
    await new ConditionalLogStore(store).commit(0, commitBody("other"));
    expect(await log.commit(0, commitBody("mine"))).toBe("conflict");
  });

  test("is in doubt when the version is not there: the put may still arrive", async () => {
    const { log } = unsure("before");
    await expect(log.commit(0, commitBody("mine"))).rejects.toThrow(CommitInDoubtError);
    await expect(log.commit(0, commitBody("mine"))).rejects.toThrow(/version 0 .*no answer to the put/);
  });

  test("is in doubt when the version cannot be read", async () => {
    const { log } = unsure("after", true);
    await expect(log.commit(0, commitBody("mine"))).rejects.toThrow(CommitInDoubtError);
  });
});

test("two commits without an id are never taken for each other", async () => {
  const store = new MemoryObjectStore();
  const log = new ConditionalLogStore(store);
  await store.put(`_delta_log/${commitFileName(0)}`, new TextEncoder().encode('{"commitInfo":{}}\n'));
  expect(await log.commit(0, commitBody("mine"))).toBe("conflict");
  const nameless = new TextEncoder().encode('{"commitInfo":{}}\n');
  await expect(log.commit(1, nameless)).rejects.toThrow(/no txnId/);
});
