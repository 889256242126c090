import { dirname, posix } from "node:path";
import ts from "typescript";
import { packageImports, packageOf, roomOf, runsAnywhere } from "./rooms.ts";

/** A source file as the rules see it; `path` is relative to the repository, with `/`. */
export interface SourceText {
  readonly path: string;
  readonly text: string;
}

/** Where a rule is broken. */
export interface Finding {
  readonly rule: Rule;
  readonly path: string;
  readonly line: number;
  readonly what: string;
}

/** One rule of ARCHITECTURE.md or CONTRIBUTING.md, which says itself why it is there and what to do. */
export interface Rule {
  readonly name: string;
  readonly why: string;
  readonly instead: string;
  readonly check: (file: ParsedFile) => Iterable<Problem>;
}

interface Problem {
  readonly line: number;
  readonly what: string;
}

export interface Import extends Problem {
  /** As written, or the repository's path of a relative one. */
  readonly target: string;
}

export interface ParsedFile extends SourceText {
  readonly source: ts.SourceFile;
  readonly imports: readonly Import[];
}

/** Where each of the SDKs may be imported. */
const sdk = /^(@aws-sdk|@smithy|aws-sdk)(\/|$)/;
const powertools = /^@aws-lambda-powertools\//;
const cdk = /^(aws-cdk-lib|constructs|cdk-nag|@aws-cdk)(\/|$)/;

function parse(file: SourceText): ParsedFile {
  const source = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.ESNext, true);
  return { ...file, source, imports: [...importsOf(source, file.path)] };
}

function* importsOf(source: ts.SourceFile, path: string): Iterable<Import> {
  for (const node of descendants(source)) {
    const specifier = specifierOf(node);
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) continue;
    const text = specifier.text;
    const target = text.startsWith(".") ? posix.join(dirname(path), text) : text;
    yield { target, line: lineOf(source, node), what: `imports ${target}` };
  }
}

/** The module's name in an import, an export from, an import(), or an import type. */
function specifierOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    return node.arguments[0];
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return node.argument.literal;
  return undefined;
}

function* descendants(node: ts.Node): Iterable<ts.Node> {
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => void children.push(child));
  for (const child of children) {
    yield child;
    yield* descendants(child);
  }
}

function lineOf(source: ts.SourceFile, node: ts.Node): number {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}

/** Imports that `forbidden` says no to. */
function noImport(forbidden: (target: string, file: ParsedFile) => boolean) {
  return (file: ParsedFile) => file.imports.filter(({ target }) => forbidden(target, file));
}

/** Nodes that `what` has a word for. */
function noNode(applies: (path: string) => boolean, what: (node: ts.Node) => string | null) {
  return function* (file: ParsedFile): Iterable<Problem> {
    if (!applies(file.path)) return;
    for (const node of descendants(file.source)) {
      const found = what(node);
      if (found !== null) yield { line: lineOf(file.source, node), what: found };
    }
  };
}

const isOurs = (target: string) =>
  /^(packages|src|lib|bin|lambdas|cli|test|bench|demo)\//.test(target) || target.startsWith("@deltacap/");

/** Names of a clock, a source of randomness or the process, as they stand in code. */
function ambientOf(node: ts.Node): string | null {
  if (ts.isPropertyAccessExpression(node)) {
    const text = `${node.expression.getText()}.${node.name.text}`;
    if (/^(globalThis\.)?(Date\.now|Math\.random|performance\.\w+|crypto\.\w+|process\.\w+)$/.test(text))
      return text;
  }
  if (ts.isNewExpression(node) && node.expression.getText() === "Date" && !node.arguments?.length) {
    return "new Date() without a time";
  }
  if (
    ts.isCallExpression(node) &&
    /^(setTimeout|setInterval|setImmediate|fetch)$/.test(node.expression.getText())
  ) {
    return `${node.expression.getText()}()`;
  }
  if (ts.isIdentifier(node) && node.text === "Buffer" && !ts.isPropertyAccessExpression(node.parent))
    return "Buffer";
  if (ts.isPropertyAccessExpression(node) && node.expression.getText() === "Buffer") return "Buffer";
  return null;
}

function* longFunctions({ path, source }: ParsedFile): Iterable<Problem> {
  if (!isProduct(path)) return;
  for (const node of descendants(source)) {
    if (!ts.isFunctionLike(node) || ts.isTypeNode(node)) continue;
    const first = lineOf(source, node);
    const lines = source.getLineAndCharacterOfPosition(node.getEnd()).line + 2 - first;
    if (lines > 80) yield { line: first, what: `a function of ${lines} lines` };
  }
}

/** Exports of the product without a comment of their own. What a package's entry exports again has its comment where it is made. */
function* undocumented({ path, source }: ParsedFile): Iterable<Problem> {
  if (!isProduct(path)) return;
  for (const node of source.statements) {
    const isExported =
      ts.canHaveModifiers(node) &&
      ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
    if (!isExported || ts.getJSDocCommentsAndTags(node).length > 0) continue;
    const [first = ""] = node.getText(source).split("\n");
    yield { line: lineOf(source, node), what: `no comment above "${first}"` };
  }
}

function isProduct(path: string): boolean {
  return /^(src|lib|bin|lambdas|cli)\/|^packages\/[a-z]+\/src\//.test(path);
}

export const rules: readonly Rule[] = [
  {
    name: "a room imports itself and the rooms below it",
    why: "a room that knows the ones above it cannot be understood, tested or replaced without them",
    instead:
      "declare what is needed as a port or a parameter in the lower room, or move the code to the upper one",
    check: ({ path, imports }) => {
      const here = roomOf(path);
      if (here === null || (here.part === "src" && !path.slice(4).includes("/"))) return [];
      if (here.index < 0) return [{ line: 1, what: "a folder that rooms.ts does not list" }];
      return imports.filter(({ target }) => {
        const there = roomOf(target);
        return there?.part === here.part && there.index > here.index && !target.endsWith("/src/errors.ts");
      });
    },
  },
  {
    name: "a package is imported by its name",
    why: "what a package exports by its name is what others may rely on: a path into it takes part in its inside",
    instead:
      "export it from the package's entry (src/capture.ts, src/parquet.ts, src/delta.ts), and import that",
    check: noImport((target, { path }) => {
      if (/(^|\/)(test|bench|docs)\//.test(path)) return false;
      return /^(packages|src)\//.test(target) && packageOf(target) !== packageOf(path);
    }),
  },
  {
    name: "a package imports what it declares",
    why: "each package is usable without the rest: capture needs nothing, parquet one library, delta only parquet",
    instead: "take it as a parameter or declare a port, and let the application join them",
    check: noImport(
      (target, { path }) =>
        packageOf(path) !== "" &&
        runsAnywhere(path) &&
        !target.startsWith("packages/") &&
        !(packageImports[packageOf(path)] ?? []).includes(target),
    ),
  },
  {
    name: "the application's inner rooms run anywhere",
    why: "the same engine runs on Lambda, on a laptop and in tests; node:*, SDKs and CDK belong to adapters",
    instead: "declare a port in the room that needs it and implement it in src/node, src/local or src/aws",
    check: noImport(
      (target, { path }) =>
        packageOf(path) === "" &&
        runsAnywhere(path) &&
        (!isOurs(target) || target === "@deltacap/delta/aws" || target === "@deltacap/delta/folder"),
    ),
  },
  {
    name: "no clock, randomness or process in what runs anywhere",
    why: "the same input, clock and batch id must give the same bytes, and tests must not wait",
    instead: "take now, random, sleep or the bytes as a parameter",
    check: noNode(runsAnywhere, ambientOf),
  },
  {
    name: "src/errors.ts and src/settings.ts import nothing",
    why: "everything may import the errors, and the infrastructure reads the settings: they must pull in nothing",
    instead: "pass values, or move the code to who needs it",
    check: noImport((_, { path }) => path === "src/errors.ts" || path === "src/settings.ts"),
  },
  {
    name: "files are touched in src/local and the folder store only",
    why: "in the cloud there is no disk: an engine that reads files would work on a laptop alone",
    instead: "use the port (CaptureStore, ObjectStore), and implement it there",
    check: noImport(
      (target, { path }) =>
        /^(node:)?fs(\/|$)/.test(target) &&
        /^(src|lambdas|packages\/[a-z]+\/src)\//.test(path) &&
        !/^(src\/local|packages\/delta\/src\/stores\/folder)\//.test(path),
    ),
  },
  {
    name: "SDKs are imported in the aws rooms only",
    why: "foreign errors and requests are translated in one place, so that callers branch on our errors alone",
    instead:
      "add what is needed to the adapter in an aws room; functions may use Powertools for logs and metrics",
    check: noImport(
      (target, { path }) =>
        isProduct(path) &&
        !/^(src|packages\/delta\/src)\/aws\//.test(path) &&
        (sdk.test(target) || (powertools.test(target) && !path.startsWith("lambdas/"))),
    ),
  },
  {
    name: "Parquet is read by packages/parquet/src/read only",
    why: "files of other writers, and damaged ones, must not hang or end a process: only this reader checks every count and offset before it uses it",
    instead: "call openParquet of @deltacap/parquet",
    check: noImport(
      (target, { path }) =>
        isProduct(path) &&
        (/^(hyparquet|hyparquet-writer|parquet-wasm|apache-arrow)(\/|$)/.test(target) ||
          (/^hyparquet-compressors(\/|$)/.test(target) && !path.startsWith("packages/parquet/src/read/"))),
    ),
  },
  {
    name: "CDK in lib and bin only",
    why: "infrastructure code must not end up in a function's bundle",
    instead: "pass the value through src/settings.ts or an environment variable",
    check: noImport((target, { path }) => cdk.test(target) && isProduct(path) && !/^(lib|bin)\//.test(path)),
  },
  {
    name: "lib and bin read src/settings.ts and nothing else of src",
    why: "a synth must not load the engine, and a change of the engine must not change the template",
    instead: "put the value into src/settings.ts",
    check: noImport(
      (target, { path }) =>
        /^(lib|bin)\//.test(path) && target.startsWith("src/") && target !== "src/settings.ts",
    ),
  },
  {
    name: "nothing imports the command line, tests or the functions",
    why: "they are the outermost layer: what imports them cannot be used without them",
    instead: "move the shared code into src",
    check: noImport(
      (target, { path }) =>
        (/^(src|lib|lambdas|bin|packages\/[a-z]+\/src)\//.test(path) &&
          /^(cli|test|bench|demo)\//.test(target)) ||
        (isProduct(path) && !path.startsWith("lambdas/") && target.startsWith("lambdas/")),
    ),
  },
  {
    name: "process.env in src/settings.ts only",
    why: "every setting has one place where its name, default and reason stand",
    instead: "read it in src/settings.ts, and import or pass the value",
    check: noNode(
      (path) => isProduct(path) && path !== "src/settings.ts",
      (node) =>
        ts.isPropertyAccessExpression(node) && node.getText() === "process.env" ? "process.env" : null,
    ),
  },
  {
    name: "no default exports",
    why: "each thing has one name everywhere",
    instead: "export it by name",
    check: noNode(
      (path) => !path.endsWith(".config.ts"),
      (node) =>
        ts.isExportAssignment(node) ||
        (ts.isExportSpecifier(node) && node.name.text === "default") ||
        (node.kind === ts.SyntaxKind.DefaultKeyword && ts.canHaveModifiers(node.parent))
          ? "a default export"
          : null,
    ),
  },
  {
    name: "no any",
    why: "any switches the compiler off for everything it touches",
    instead: "use unknown and look at the value, or write the type",
    check: noNode(
      () => true,
      (node) => (node.kind === ts.SyntaxKind.AnyKeyword ? "the type any" : null),
    ),
  },
  {
    name: "every export has a docstring",
    why: "the signature does not say units, owners, costs and errors, and the next reader has nobody to ask",
    instead: "write what it returns, in which unit, who owns it and what it throws, above the export",
    check: undocumented,
  },
  {
    name: "file names are words of the specifications",
    why: "utils, helpers, common, misc and index say nothing, so everything ends up in them",
    instead: "name the file after the concept in it",
    check: ({ path }) =>
      isProduct(path) && /\/(utils?|helpers?|common|misc|index)\.ts$/.test(path)
        ? [{ line: 1, what: `the name ${posix.basename(path)}` }]
        : [],
  },
  {
    name: "files have at most 400 lines",
    why: "a file is one concept, read in one go",
    instead: "find the second concept in it and give it a file",
    check: ({ path, text }) => {
      const lines = text.split("\n").length - 1;
      return isProduct(path) && lines > 400 ? [{ line: 401, what: `${lines} lines` }] : [];
    },
  },
  {
    name: "functions have at most 80 lines",
    why: "a function is one thought",
    instead: "name its steps and make them functions",
    check: longFunctions,
  },
];

/** All findings of all rules, in the order of the files. */
export function findings(files: readonly SourceText[]): Finding[] {
  const parsed = files.map(parse);
  const found: Finding[] = [];
  for (const file of parsed) {
    for (const rule of rules) {
      for (const { line, what } of rule.check(file)) found.push({ rule, path: file.path, line, what });
    }
  }
  return [...found, ...cycles(parsed)];
}

const noCycles: Rule = {
  name: "no import cycles",
  why: "files in a cycle are one file in several pieces, and their order of loading decides what works",
  instead: "move what both need into a file of its own",
  check: () => [],
};

/** One finding for each import that closes a cycle, types included: found by depth-first search. */
function* cycles(files: readonly ParsedFile[]): Iterable<Finding> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const visit = function* (file: ParsedFile, trail: readonly string[]): Iterable<Finding> {
    if (done.has(file.path)) return;
    const path = [...trail, file.path];
    for (const { target, line } of file.imports) {
      const at = path.indexOf(target);
      if (at >= 0) {
        const what = `the cycle ${[...path.slice(at), target].join(" -> ")}`;
        yield { rule: noCycles, path: file.path, line, what };
        continue;
      }
      const next = byPath.get(target);
      if (next !== undefined) yield* visit(next, path);
    }
    done.add(file.path);
  };
  for (const file of files) yield* visit(file, []);
}

/** A finding, for whoever broke the rule. */
export function explained({ rule, path, line, what }: Finding): string {
  return `${path}:${line}: ${what}\n    rule: ${rule.name}\n    why:  ${rule.why}\n    do:   ${rule.instead}`;
}
