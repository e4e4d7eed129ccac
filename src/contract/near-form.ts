const needsFolding = /[^ -@[-~]|^ | $/

/** Fits the key of an index. A compatibility form can be 18 times as long as an identifier. */
const maxLength = 255

/**
 * Returns what identifiers are compared by to find near matches: in lower case, in Unicode form NFKC, without White_Space at
 * the ends. Upper case in between makes letters equal that have only that in common (`ß` and `SS`, `ς` and `σ`); the dot of a
 * Turkish `İ`, which a lower case `i` keeps as a character of its own, is left out.
 */
export function toNearForm(id: string): string {
  if (!needsFolding.test(id)) return id
  const upper = id.normalize('NFKC').toLowerCase().toUpperCase().normalize('NFKC').replaceAll('\u0130', 'I')
  const form = upper
    .toLowerCase()
    .normalize('NFKC')
    .replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '')
  return form.length <= maxLength ? form : [...form].slice(0, maxLength).join('')
}
