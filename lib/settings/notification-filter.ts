/**
 * Returns the beginning or end of keys as S3's notification filter wants it: a space as `+`, and all that is not safe in a key, `=` and
 * `+` among it, percent-encoded. S3 accepts other forms too, and then announces nothing.
 */
export function encodedForFilter(text: string): string {
  return encodeURIComponent(text).replaceAll("%20", "+").replaceAll("%2F", "/").replaceAll("~", "%7E");
}
