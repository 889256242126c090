/** Only where this occurs can a number be one that JSON.parse would round. */
const LONG_NUMBER = /\d{16}/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/**
 * JSON with exact integers: those beyond 2^53 are BigInts, where JSON.parse would round them. Throws SyntaxError for what is
 * no JSON. Cost: that of JSON.parse where no number has 16 digits, several times as much otherwise.
 */
export function parseJson(text: string): unknown {
  const rounded: unknown = JSON.parse(text);
  return LONG_NUMBER.test(text) ? new ExactReader(text).value() : rounded;
}

/** Reads text that is known to be valid JSON. */
class ExactReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): unknown {
    const char = this.#peek();
    if (char === "{") return this.#object();
    if (char === "[") return this.#array();
    if (char === '"') return this.#string();
    if (char === "t") return this.#word("true", true);
    if (char === "f") return this.#word("false", false);
    if (char === "n") return this.#word("null", null);
    return this.#number();
  }

  /** The next character that is not white space. */
  #peek(): string {
    while (" \t\n\r".includes(this.#text[this.#at] ?? "x")) this.#at++;
    return this.#text[this.#at] ?? "";
  }

  /** Whether another member follows; steps over the comma or the closing bracket. */
  #more(closing: string): boolean {
    const char = this.#peek();
    if (char === closing || char === ",") this.#at++;
    return char !== closing;
  }

  #object(): Record<string, unknown> {
    this.#at++;
    const members: [string, unknown][] = [];
    while (this.#more("}")) {
      this.#peek();
      const name = this.#string();
      this.#peek();
      this.#at++;
      members.push([name, this.value()]);
    }
    return Object.fromEntries(members);
  }

  #array(): unknown[] {
    this.#at++;
    const items: unknown[] = [];
    while (this.#more("]")) items.push(this.value());
    return items;
  }

  #string(): string {
    let end = this.#at + 1;
    while (this.#text[end] !== '"') end += this.#text[end] === "\\" ? 2 : 1;
    const literal = this.#text.slice(this.#at, end + 1);
    this.#at = end + 1;
    return JSON.parse(literal) as string;
  }

  #word<T>(word: string, value: T): T {
    this.#at += word.length;
    return value;
  }

  #number(): number | bigint {
    NUMBER.lastIndex = this.#at;
    const literal = NUMBER.exec(this.#text)?.[0] ?? "";
    this.#at += literal.length;
    const number = Number(literal);
    return Number.isSafeInteger(number) || /[.eE]/.test(literal) ? number : BigInt(literal);
  }
}

/** JSON.stringify that takes BigInts too, and writes them as numbers. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // It refuses BigInts: they are rare, and it is many times as fast as what follows.
    if (!(error instanceof TypeError)) throw error;
    return stringifyExactly(value);
  }
}

function stringifyExactly(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => stringifyExactly(item ?? null)).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${stringifyExactly(member)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}
