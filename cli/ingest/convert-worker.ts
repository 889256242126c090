import { RetryableError } from "@deltacap/delta";
import { convertCaptures } from "../../src/ingest/convert-captures.ts";
import { converterDefaults } from "../../src/settings.ts";
import { localTable } from "../tables/local-table.ts";
import type { ConvertAnswer, ConvertRequest } from "./converters.ts";

/** A converter process: one batch after another, as the parent asks. It ends with its parent. */
process.on("message", (request: ConvertRequest) => {
  void answer(request);
});
process.on("disconnect", () => process.exit());
// Ctrl-C reaches all processes of the terminal; the parent decides, and finishes what is begun.
process.on("SIGINT", () => {});

async function answer({ table, runId, sources }: ConvertRequest): Promise<void> {
  try {
    const ports = {
      ...localTable(table, runId).converter,
      onCapture: (result: Extract<ConvertAnswer, { kind: "capture" }>["result"]) =>
        send({ kind: "capture", result }),
    };
    send({ kind: "done", outcome: await convertCaptures(sources, ports, converterDefaults) });
  } catch (error) {
    if (error instanceof RetryableError)
      return send({ kind: "failed", retryable: true, message: error.message });
    // A bug: the stack trace helps to fix it.
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    send({ kind: "failed", retryable: false, message });
  }
}

function send(answer: ConvertAnswer): void {
  // Without a parent nobody needs the answer. Node would throw the error where nobody catches it.
  process.send?.(answer, undefined, undefined, (error) => {
    if (error !== null) process.exit();
  });
}
