import type { InclusionProof } from '../../src/contract/index.ts'
import { type Pack, textFile } from '../../src/evidence/pack.ts'
import { inclusionRanges } from '../../src/evidence/proofs.ts'
import { visible } from '../../src/output/safe.ts'
import { describeAnswers, describeFiles, describeRecord } from './words.ts'

interface Sealing {
  readonly createdAt: string
  readonly keyId: string
  /** Older entries of `administration/` were left out. */
  readonly isTruncated: boolean
}

/** Lines that begin with four blanks are commands; untrusted text cannot start one. */
export function formatReadme(pack: Pack, { createdAt, keyId, isTruncated }: Sealing): string {
  return [
    'EVIDENCE OF A CONSENT RECORD',
    `This folder is about one record of consent, as the service held it at ${createdAt}.\nIt can be checked without that service and without a network.`,
    'WHAT IS SAID',
    describeRecord(pack)
      .map(([name, value]) => `  ${name}: ${visible(value)}`)
      .join('\n'),
    'EVENTS',
    describeEvents(pack).map(visible).join('\n'),
    'THE FILES: WHAT EACH SHOWS, AND WHAT IT DOES NOT',
    ...describeFiles(pack, isTruncated).map(
      ({ name, shows, lacks }) => `  ${name}\n${wrap(`shows: ${shows}`)}\n${wrap(`does not show: ${lacks}`)}`,
    ),
    'HOW TO CHECK IT',
    `With the program: consentctl verify THIS-FOLDER --keys KEYS, where KEYS is a copy of consent-keys.json that you
got from the operator of the service early, and not with this folder. Without --keys the keys of this folder are
used, which anyone could have put here who could make all of it.`,
    `By hand: in a shell in this folder, with sha256sum and openssl (3.0 or newer). The first commands verify signatures;
the one with awk compares each file that is listed in pack.json, which is signed (any other file was added); each of the last ones prints a
line if it is so, and nothing if it is not.`,
    commands(pack, keyId)
      .map(line => `    ${line}`)
      .join('\n'),
    `These commands do not compute the hashes of history.json from what it says, nor the order of the leaves; the
program does, and so does every other one that is written after the description of the format, which is part of
the program's source (src/evidence/README.md).`,
  ]
    .join('\n\n')
    .concat('\n')
}

function describeEvents(pack: Pack): string[] {
  const { history, administration } = pack
  const answers = describeAnswers(pack)
  const events = history.map(({ version, action, created_at, given_at, changed_by, actor_id, preferences }, index) => {
    const given = given_at ? `, answered at ${given_at}, as the importer told it` : ''
    const by = `${changed_by} ${actor_id ?? ''}`.trimEnd()
    return `  ${version} ${action} at ${created_at} by ${by}${given}: ${answers[index]}, ${JSON.stringify(preferences)}`
  })
  const changes = administration.map(
    ({ entry: { version, action, at, actor } }) =>
      `  settings, ${version} ${action} at ${at} by ${`${actor.kind} ${actor.id ?? ''}`.trimEnd()}`,
  )
  return [...events, ...changes]
}

/** No line begins with four blanks. */
function wrap(sentence: string, indent = '   '): string {
  return (sentence.match(/.{1,110}(?= |$)/g) ?? []).map(line => `${indent}${line.trim()}`).join('\n')
}

function commands(pack: Pack, keyId: string): string[] {
  const { checkpoint, receipt, checkpoints, notice, history, first, between, last, administration } = pack
  return [
    't=$(mktemp -d)',
    `signed() { sed '$d' "$1" > "$t/message"; tail -n 1 "$1" | cut -d'"' -f4 | openssl base64 -d -A > "$t/signature"; openssl pkeyutl -verify -pubin -inkey "keys/$2.pem" -rawin -in "$t/message" -sigfile "$t/signature"; }`,
    `signed pack.json ${keyId}`,
    `awk -F'"' '$2 == "name" { name = $4 } $2 == "sha256" { print $4 "  " name }' pack.json | sha256sum -c`,
    `signed checkpoint.json ${checkpoint.key_id}`,
    ...(receipt ? [`signed receipt.json ${receipt.key_id}`] : []),
    ...checkpoints.map(earlier => `signed ${earlier.file} ${earlier.checkpoint.key_id}`),
    'rm -r "$t"',
    `bin() { for byte in $(printf %s "$1" | fold -w 2); do printf "\\\\$(printf %03o "0x$byte")"; done; }`,
    `hash() { for part; do bin "$part"; done | sha256sum | cut -d ' ' -f 1; }`,
    `file() { sha256sum < "$1" | cut -d ' ' -f 1; }`,
    `root() { h=$(hash 00 "$1"); shift; for step; do case $step in -*) h=$(hash 01 "\${step#-}" "$h");; *) h=$(hash 01 "$h" "$step");; esac; done; echo "$h"; }`,
    `in_log() { grep -q "\\"root_hash\\": \\"$(root "$@")\\"" checkpoint.json && echo "$name is in the log of checkpoint.json"; }`,
    ...[first, ...between, last].map(proof => {
      const { version, hash } = history[proof.version - 1] ?? {}
      return `grep -q '${hash}' history.json && name='entry ${version} of history.json' && in_log ${hash} ${steps(proof)}`.trimEnd()
    }),
    ...[...(notice ? [notice] : []), ...administration].map(({ file, proof }) =>
      `name=${file} && in_log $(file ${file}) ${steps(proof)}`.trimEnd(),
    ),
    ...(notice?.manifest.texts ?? []).map(text => {
      const file = textFile(text)
      return `grep -q "$(file ${file})" notice.json && echo '${file} was published by notice.json'`
    }),
  ]
}

/** A minus marks a hash on the left. */
function steps({ leaf_index, tree_size, path }: InclusionProof): string {
  return inclusionRanges(leaf_index, tree_size)
    .map(({ from }, index) => `${from <= leaf_index ? '-' : ''}${path[index]}`)
    .join(' ')
}
