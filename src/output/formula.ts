/**
 * Formulas as spreadsheets read them: after white space and invisible characters, which some drop. Apostrophes are
 * skipped so that ours can be removed.
 */
const formula = /^'*(?:[\t\r\n]|[\s\p{Cf}]*[=+\-@＝＋－＠])/u

export function guardFormula(cell: string): string {
  return formula.test(cell) ? `'${cell}` : cell
}

export function removeGuard(cell: string): string {
  return cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell
}
