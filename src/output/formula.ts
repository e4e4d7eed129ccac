/**
 * Matches cells that spreadsheets take for a formula: after white space and invisible characters, which some of them drop, and after
 * apostrophes, so that ours can be removed.
 */
const formula = /^'*(?:[\t\r\n]|[\s\p{Cf}]*[=+\-@＝＋－＠])/u

/** Returns the cell with an apostrophe before a formula. */
export function guardFormula(cell: string): string {
  return formula.test(cell) ? `'${cell}` : cell
}

/** Removes the apostrophe that `guardFormula` and spreadsheets put before a formula. */
export function removeGuard(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell
}
