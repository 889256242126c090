import { createHash } from "node:crypto";

/** SHA-256 by Node's OpenSSL. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest();
}
