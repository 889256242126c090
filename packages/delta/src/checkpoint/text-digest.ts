/**
 * A 64-bit digest of texts in their order, for comparing what was written with what is read: against bugs and damage, not against
 * people. FNV-1a in two lanes of 32 bits over UTF-16 units.
 */
export class TextDigest {
  #low = 0x811c9dc5;
  #high = 0x050c5d1f;

  add(text: string): void {
    let low = this.#low;
    let high = this.#high;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      low = Math.imul(low ^ unit, 0x01000193);
      high = Math.imul(high ^ unit, 0x85ebca6b);
    }
    // No unit has this value: where one text ends and the next begins counts as well.
    this.#low = Math.imul(low ^ 0x10000, 0x01000193);
    this.#high = Math.imul(high ^ 0x10000, 0x85ebca6b);
  }

  toString(): string {
    return [this.#high, this.#low].map((lane) => (lane >>> 0).toString(16).padStart(8, "0")).join("");
  }
}
