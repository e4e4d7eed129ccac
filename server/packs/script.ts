import type { InclusionProof } from '../../src/contract/index.ts'
import { type Pack, textFile } from '../../src/evidence/pack.ts'
import { inclusionRanges } from '../../src/evidence/proofs.ts'

/** The names of files, hashes and ids in it have a form of their own, so that no text of a stranger is in it. */
export function formatScript(pack: Pack, keyId: string): string {
  return `#!/bin/sh
# Checks the signatures, the files and the proofs of this folder, with sha256sum and openssl (3.0 or newer).
set -eu
cd "$(dirname "$0")"
t=$(mktemp -d)
trap 'rm -r "$t"' EXIT
signed() { sed '$d' "$1" > "$t/message"; tail -n 1 "$1" | cut -d'"' -f4 | openssl base64 -d -A > "$t/signature"; openssl pkeyutl -verify -pubin -inkey "keys/$2.pem" -rawin -in "$t/message" -sigfile "$t/signature"; }
bin() { for byte in $(printf %s "$1" | fold -w 2); do printf "\\\\$(printf %03o "0x$byte")"; done; }
hash() { for part; do bin "$part"; done | sha256sum | cut -d ' ' -f 1; }
file() { sha256sum < "$1" | cut -d ' ' -f 1; }
root() { h=$(hash 00 "$1"); shift; for step; do case $step in -*) h=$(hash 01 "\${step#-}" "$h");; *) h=$(hash 01 "$h" "$step");; esac; done; echo "$h"; }
in_log() { name=$1; shift; grep -q "\\"root_hash\\": \\"$(root "$@")\\"" checkpoint.json || { echo "$name is NOT in the log of checkpoint.json"; exit 1; }; echo "$name is in the log of checkpoint.json"; }
in_file() { grep -q "$1" "$2" || { echo "$3 is NOT in $2"; exit 1; }; }
${commands(pack, keyId).join('\n')}
echo 'Everything that is checked here is as it was.'
`
}

function commands(
  { checkpoint, receipt, checkpoints, notice, history, first, between, last, administration }: Pack,
  keyId: string,
) {
  return [
    `signed pack.json ${keyId}`,
    `awk -F'"' '$2 == "name" { name = $4 } $2 == "sha256" { print $4 "  " name }' pack.json | sha256sum -c`,
    `signed checkpoint.json ${checkpoint.key_id}`,
    ...(receipt ? [`signed receipt.json ${receipt.key_id}`] : []),
    ...checkpoints.map(earlier => `signed ${earlier.file} ${earlier.checkpoint.key_id}`),
    ...[first, ...between, last].flatMap(proof => {
      const { version, hash } = history[proof.version - 1] ?? {}
      const name = `'entry ${version}'`
      return [`in_file ${hash} history.json ${name}`, `in_log ${name} ${hash} ${steps(proof)}`.trimEnd()]
    }),
    ...[...(notice ? [notice] : []), ...administration].map(({ file, proof }) =>
      `in_log ${file} "$(file ${file})" ${steps(proof)}`.trimEnd(),
    ),
    ...(notice?.manifest.texts ?? []).map(text => {
      const file = textFile(text)
      return `in_file "$(file ${file})" notice.json ${file}`
    }),
  ]
}

/** A minus marks a hash on the left. */
function steps({ leaf_index, tree_size, path }: InclusionProof): string {
  return inclusionRanges(leaf_index, tree_size)
    .map(({ from }, index) => `${from <= leaf_index ? '-' : ''}${path[index]}`)
    .join(' ')
}
