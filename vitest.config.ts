import { defineConfig } from "vitest/config";

/** The packages' sources stand for the packages: nothing is built before a test. */
const SOURCE = "deltacap-source";
const conditions = [SOURCE, "node"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
    // Tests start programs of this repository from their sources.
    env: { NODE_OPTIONS: `--conditions=${SOURCE}` },
  },
});
