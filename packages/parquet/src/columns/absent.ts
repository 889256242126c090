/** What the builders of numbers take for "no value": a null in the column. Every real value is >= 0. */
export const ABSENT = -1;
