/** C2SP tlog-proof. `path`: hexadecimal hashes; `note`: the signed checkpoint. */
export function tlogProof(index: number, path: readonly string[], note: string): string {
  const hashes = path.map(hash => `${btoa(hash.replace(/../g, toByte))}\n`)
  return `c2sp.org/tlog-proof@v1\nindex ${index}\n${hashes.join('')}\n${note}`
}

function toByte(digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 16))
}
