/**
 * A Parquet file whose bytes contradict themselves, its length or the format. Every error that reading a file's content causes
 * is of this class.
 * `offset` is the byte of the file at which the damage shows.
 */
export class DamagedParquetError extends Error {
  override readonly name = "DamagedParquetError";
  readonly offset: number;
  readonly file: string;
  /** The message without the file's name. */
  readonly problem: string;

  constructor(file: string, at: { readonly offset: number; readonly part: string | null }, cause: unknown) {
    const part = at.part === null ? "" : ` (${at.part})`;
    const problem = `is damaged, at byte ${at.offset}${part}: ${reasonOf(cause)}`;
    super(`${file} ${problem}`, { cause });
    this.offset = at.offset;
    this.file = file;
    this.problem = problem;
  }
}

/** Thrown by the decoders of this folder. {@link DamagedParquetError} adds the file's name and the column. */
export class ParquetDamage extends Error {
  /** Byte of the file, where the decoder knows it. */
  readonly offset: number | null;

  constructor(problem: string, offset: number | null = null) {
    super(problem);
    this.offset = offset;
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
