/** One rule of exactly once, how to take it out of the source, and the test that must then fail. */
export interface Rule {
  readonly rule: string;
  readonly file: string;
  readonly line: string;
  /** What stands in the line's place when the rule is out. */
  readonly without: string;
  readonly test: string;
  /** Beginning of the test's name. */
  readonly named: string;
}

const committer = "src/commit/commit-manifests.ts";
const plan = "src/commit/plan.ts";
const replay = "src/commit/ledger-replay.ts";
const test = "test/commit/commit-manifests.test.ts";

export const rules: readonly Rule[] = [
  {
    rule: "the watermark moves only over versions whose entries this run wrote, other committers' included",
    file: replay,
    line: "await this.#ledger.putCommitted(await this.#completed());",
    without: "void 0;",
    test,
    named: "! the winner's tags are replayed even if the winner died before its own ledger write",
  },
  {
    rule: "after a conflict the winner's commit is read, and the plan is made anew",
    file: committer,
    line: "await this.#catchUp(this.version + 1);",
    without: "this.#snapshot = { ...this.#snapshot, version: this.version + 1 };",
    test,
    named: "! the winner's tags are replayed even if the winner died before its own ledger write",
  },
  {
    rule: "the winner's protocol and metadata pass the gate again",
    file: committer,
    line: "this.#requireWritable(snapshot);\n    await replay.flush();",
    without: "await replay.flush();",
    test,
    named: "a winner that changed the table into one we must not write to",
  },
  {
    rule: "no watermark on a table with versions: full replay",
    file: committer,
    line: "watermark === null ? 0 : watermark + 1",
    without: "watermark === null ? snapshot.version + 1 : watermark + 1",
    test,
    named: "no watermark on a table with versions",
  },
  {
    rule: "each run first replays the commits after the watermark",
    file: committer,
    line: "await committer.#catchUp(watermark === null ? 0 : watermark + 1);",
    without: "",
    test,
    named: "a run replays what was committed after the watermark",
  },
  {
    rule: "watermark+1 no longer in the log: refuse",
    file: committer,
    line: "if ((versions[0] ?? this.version + 1) !== from) {",
    without: "if (from < 0) {",
    test,
    named: "the version after the watermark is gone from the log",
  },
  {
    rule: "a ledger whose watermark is another commit than the log's is no index of this log: refuse",
    file: committer,
    line: "if (wrong !== null) {",
    without: 'if (wrong === "") {',
    test,
    named: "a log put back from a backup that another writer went on with",
  },
  {
    rule: "the snapshot moves after the ledger",
    file: committer,
    line: "    await this.#ports.ledger.putCommitted(entries);",
    without:
      "    this.#snapshot = { ...this.#snapshot, version };\n    await this.#ports.ledger.putCommitted(entries);",
    test,
    named: "a commit whose ledger write failed is not repeated",
  },
  {
    rule: "before anything is sent back, its raw object must still be there",
    file: plan,
    line: "if (!there) gone.push(source);",
    without: "void there;",
    test,
    named: "! nothing is sent back when a raw object is gone",
  },
  {
    rule: "a manifest is atomic: one with known sources is not added",
    file: plan,
    line: "if (sources.length < manifest.sources.length) {",
    without: "if (sources.length < 0) {",
    test,
    named: "mixed: nothing of it is added",
  },
  {
    rule: "two manifests of one round are checked in order",
    file: plan,
    line: 'if (decision.kind === "add") for (const { id, capture } of manifest.sources) taken.set(id, capture);',
    without: "",
    test,
    named: "two manifests of one round that share a source",
  },
  {
    rule: "a manifest that repeats a source within itself is refused",
    file: plan,
    line: "if (ids.has(id)) {",
    without: 'if (id === "") {',
    test,
    named: "one that repeats a source within itself",
  },
  {
    rule: "HEAD must give a file's exact size",
    file: plan,
    line: "size === file.size\n      ?",
    without: "size >= 0\n      ?",
    test,
    named: "a file of another size",
  },
  {
    rule: "a missing file sends its sources back",
    file: plan,
    line: 'if (size === null) return { kind: "missing", path: file.path };',
    without: "if (size === null) return null;",
    test,
    named: "a missing file sends the manifest's sources back",
  },
  {
    rule: "the committer never deletes data files",
    file: committer,
    line: "const final = await sendBackSources(decisions, captures, captureQueue);",
    without:
      'const final = await sendBackSources(decisions, captures, captureQueue);\n    for (const { kind, manifest } of final) if (kind === "drop") await this.#ports.table.remove(manifest.files.map(({ path }) => path));',
    test,
    named: "no run removes a data file",
  },
  {
    rule: "a known id with another key is refused",
    file: plan,
    line: "if (isOfObject(other) && other !== capture) {",
    without: "if (isOfObject(other) && other === id) {",
    test,
    named: "a known id with another key is refused, not a duplicate",
  },
  {
    rule: "only captures that the ledger's own entries name are deleted",
    file: plan,
    line: "const named = manifest.sources.filter(({ id, capture }) => taken.get(id) === capture);",
    without: "const named = manifest.sources;",
    test,
    named: "of a duplicate whose ledger entry names no capture, none may be deleted",
  },
  {
    rule: "a manifest that could not be judged is neither added nor sent back",
    file: plan,
    line: 'if (problem?.kind === "failed") return { ...problem, manifest, kind: "fail" };',
    without: "",
    test: "test/commit/committer-run.test.ts",
    named: "at the step ledger blocks no other, and is put aside at its last try",
  },
  {
    rule: "at most 50,000 sources a commit",
    file: committer,
    line: "sources + manifest.sources.length > MAX_SOURCES",
    without: "sources < 0",
    test,
    named: "more sources than one commit may carry",
  },
];
