import picomatch from "picomatch";
import type { FileFilter } from "../../src/local/file-capture-store.ts";
import { type OptionValues, UsageError } from "../terminal/command.ts";

/** `*`, `?`, `**`, `[a-z]` and `{a,b}`; a `!` or a parenthesis is a character like any other. */
const GLOB_OPTIONS = { dot: true, nonegate: true, noextglob: true, strictBrackets: true } as const;

/** The filter of `--include` and `--exclude`, or null without them. Throws `UsageError` for a pattern that can match nothing. */
export function fileFilter(options: OptionValues): FileFilter | null {
  const included = matchers("include", options.include);
  const excluded = matchers("exclude", options.exclude);
  if (included.length + excluded.length === 0) return null;
  return {
    excludes: (key) => excluded.some((matches) => matches(key)),
    includes: (key) => included.length === 0 || included.some((matches) => matches(key)),
  };
}

type Matcher = (key: string) => boolean;

function matchers(name: string, given: OptionValues[string]): Matcher[] {
  return Array.isArray(given) ? given.map((glob: string) => matcher(name, glob)) : [];
}

function matcher(name: string, glob: string): Matcher {
  const pattern = glob.replace(/^(?:\.\/)+/, "").replace(/\/+$/, "");
  if (pattern === "" || pattern.startsWith("/") || pattern.split("/").includes("..")) {
    throw new UsageError(
      `--${name} ${JSON.stringify(glob)}: a pattern of paths below PATH is expected, such as '**/*.pcap'`,
    );
  }
  try {
    return picomatch(pattern, GLOB_OPTIONS);
  } catch (error) {
    throw new UsageError(`--${name} ${glob}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
