/** Characters that move the cursor, change colours or turn the writing direction: what comes from captures must do neither. */
const CONTROLS = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;

/** The text with control characters as `\u001b`, but for line ends: JSON stays the same JSON by that. */
export function printable(text: string): string {
  return text.replace(CONTROLS, (character) => (character === "\n" ? character : escaped(character)));
}

/** The same, for a value that must stay in its line. */
export function oneLine(text: string): string {
  return text.replace(CONTROLS, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
