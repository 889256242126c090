import { createHash } from "node:crypto";
import type { ContentHash } from "../ingest/identify-sources.ts";

/** SHA-256 by Node's OpenSSL. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest();
}

/** A content's SHA-256 and MD5, from its pieces in order. */
export function contentHash(): ContentHash {
  const sha256OfContent = createHash("sha256");
  const md5 = createHash("md5");
  return {
    update: (bytes) => {
      sha256OfContent.update(bytes);
      md5.update(bytes);
    },
    digest: () => ({ sha256: sha256OfContent.digest("hex"), md5: md5.digest("hex") }),
  };
}
