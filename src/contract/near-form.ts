const needsFolding = /[^ -@[-~]|^ | $/

/** Limit of an index key: a compatibility form can be 18 times as long as an identifier. */
const maxLength = 255

/**
 * Identifiers with the same near form are near matches: lower case, NFKC, without White_Space at the ends. Upper case
 * in between equates `ß` and `SS`, `ς` and `σ`; the dot of a Turkish `İ` is dropped.
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
