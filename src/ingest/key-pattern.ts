/** One segment of a pattern, between slashes. */
type Segment =
  | { readonly kind: "any segments" }
  | { readonly kind: "vehicle" }
  /** Pieces between `*`: the first and last are anchored, the others are found in order. */
  | { readonly kind: "pieces"; readonly pieces: readonly string[] };

/**
 * Tells a vehicle from an object key. A pattern has segments between slashes: literals, `*` (any characters within a
 * segment), `**` (any number of segments; at the end at least one, so that `{vehicle_id}/**` takes a file beside the folders for
 * no vehicle), and `{vehicle_id}` once, a segment of its own. Matching takes time linear in the
 * key for each `**`; there are no regular expressions, which a key could stall.
 */
export class KeyPattern {
  readonly #segments: readonly Segment[];
  /** As it was given. */
  readonly text: string;

  /** Throws an error that names the part that makes no sense. */
  constructor(pattern: string) {
    if (pattern === "") throw new Error('the key pattern is empty: use "{vehicle_id}/**"');
    this.text = pattern;
    let position = 0;
    this.#segments = pattern.split("/").map((text) => {
      const segment = segmentOf(text, pattern, position);
      position += text.length + 1;
      return segment;
    });
    const vehicles = this.#segments.filter((segment) => segment.kind === "vehicle").length;
    if (vehicles !== 1) {
      throw new Error(`key pattern "${pattern}" has {vehicle_id} ${vehicles} times: exactly once is needed`);
    }
  }

  /** The vehicle's id, or null where the key does not match. */
  vehicleId(key: string): string | null {
    const parts = key.split("/");
    // The classic two-pointer walk: on a mismatch the last `**` takes one segment more.
    let at = 0;
    let next = 0;
    let retry: { segment: number; at: number; vehicle: string | null } | null = null;
    let vehicle: string | null = null;
    while (at < parts.length || next < this.#segments.length) {
      const segment = this.#segments[next];
      const part = parts[at];
      const nothingLeft = next === this.#segments.length - 1 && part === undefined;
      if (segment?.kind === "any segments" && !nothingLeft) {
        retry = { segment: next, at, vehicle };
        next++;
        continue;
      }
      if (segment !== undefined && part !== undefined && matches(segment, part)) {
        if (segment.kind === "vehicle") vehicle = part;
        next++;
        at++;
        continue;
      }
      if (retry === null || retry.at >= parts.length) return null;
      retry = { ...retry, at: retry.at + 1 };
      at = retry.at;
      next = retry.segment + 1;
      vehicle = retry.vehicle;
    }
    return vehicle;
  }
}

function segmentOf(text: string, pattern: string, position: number): Segment {
  if (text === "**") return { kind: "any segments" };
  if (text === "{vehicle_id}") return { kind: "vehicle" };
  const reason = text.includes("**")
    ? "** must be a whole segment"
    : text.includes("{") || text.includes("}")
      ? "braces are for {vehicle_id}, which must be a whole segment"
      : text === ""
        ? "a segment is empty"
        : null;
  if (reason === null) return { kind: "pieces", pieces: text.split("*") };
  throw new Error(`key pattern "${pattern}", segment "${text}" at position ${position + 1}: ${reason}`);
}

function matches(segment: Segment, part: string): boolean {
  if (segment.kind === "vehicle") return part !== "";
  if (segment.kind === "any segments") return true;
  const { pieces } = segment;
  const first = pieces[0] ?? "";
  const last = pieces.at(-1) ?? "";
  if (pieces.length === 1) return part === first;
  if (part.length < first.length + last.length || !part.startsWith(first) || !part.endsWith(last))
    return false;
  let at = first.length;
  const end = part.length - last.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = part.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
