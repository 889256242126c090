/** A deletion vector that is gone, damaged, or not the one that the log describes: its file cannot be read. */
export class DamagedVectorError extends Error {
  override readonly name = "DamagedVectorError";
}
