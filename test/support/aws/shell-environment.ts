import { vi } from "vitest";
import type { Visitor } from "./cloud.ts";

/** The environment of a person's shell who works in the visitor's cloud; undone by `vi.unstubAllEnvs`. */
export function enterByShell({ urls, faults }: Visitor): void {
  vi.stubEnv("AWS_REGION", "eu-central-1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  vi.stubEnv("AWS_ENDPOINT_URL_S3", urls.s3);
  vi.stubEnv("AWS_ENDPOINT_URL_DYNAMODB", urls.dynamodb);
  faults.forget();
}
