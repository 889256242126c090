declare module "dynalite" {
  import type { Server } from "node:http";

  /** A DynamoDB in memory; times in milliseconds. */
  function dynalite(options?: { createTableMs?: number; maxItemSizeKb?: number }): Server;
  export = dynalite;
}
