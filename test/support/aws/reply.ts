/** What a test's server answers. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  /** A HEAD's length, which no body shows; for others a length that is not the body's. */
  readonly contentLength?: number;
}
