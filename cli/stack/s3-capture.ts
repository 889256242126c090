import { captureUri, newestVersion } from "../../src/aws/capture-objects.ts";
import { createClients } from "../../src/aws/clients.ts";
import { S3CaptureStore } from "../../src/aws/s3-capture-store.ts";
import { regionExplained } from "./region.ts";
import { objectUri } from "./source-fate.ts";

/** The object's bytes; null where there is no object of that key, which may be a folder then. */
export async function s3Capture(uri: string): Promise<AsyncIterable<Uint8Array> | null> {
  const { bucket, key } = objectUri(uri, "a capture or a table");
  if (key === "" || key.endsWith("/")) return null;
  const { s3 } = createClients({});
  const [object] = await newestVersion(s3, bucket, key).catch((error: unknown) => {
    throw regionExplained(error);
  });
  if (object === undefined) return null;
  return new S3CaptureStore(s3).open({ ...object, capture: captureUri(object), vehicleId: null });
}
