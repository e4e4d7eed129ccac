import type { EvidencePack } from '../../contract/documents/evidence-pack.ts'
import { CliError } from '../../errors/errors.ts'
import { keyIdOf, publicPem } from '../../evidence/keys.ts'
import { NotValid, type PackFiles, readPack, requireFile } from '../../evidence/pack.ts'
import { type PackCheck, packChecks, requireListed, requireSums } from '../../evidence/pack-checks.ts'
import { listFile, sumsFile } from '../../evidence/pack-names.ts'
import { readSigned } from '../../evidence/signed.ts'
import type { VerdictRow } from '../../views/verification.ts'
import { judge, type Sources } from './judge.ts'
import { type FindKeys, readKeySet, readPem, trusted } from './keys.ts'

/** Replace those in the pack. */
export interface PackKeys {
  readonly service?: FindKeys | undefined
  readonly profile?: FindKeys | undefined
  /** See `Sources`. */
  readonly newest?: Sources['newest']
}

/**
 * `folder` begins the path of every row. Stops after a file list that does not match, and after an invalid signed
 * document: the other files rely on both.
 */
export async function verifyPack(folder: string, files: PackFiles, given: PackKeys): Promise<VerdictRow[]> {
  const rows: VerdictRow[] = []
  const at = (file: string) => `${folder}/${file}`
  try {
    const findKeys = keysOf(files, given)
    const seal = files.has(listFile) ? await readSeal(folder, files, findKeys) : readSums(folder, files, given)
    rows.push(seal.row)
    if (seal.row.result === 'not_valid') return rows
    const pack = readPack(files)
    const verdicts = new Map<string, VerdictRow>()
    // The others are compared with checkpoint.json, so the log only has to extend that one.
    const signed = [...pack.checkpoints.map(({ file }) => file), ...(pack.receipt ? ['receipt.json'] : [])]
    for (const file of ['checkpoint.json', ...signed]) {
      const sources = file === 'checkpoint.json' ? { findKeys, newest: given.newest } : { findKeys }
      verdicts.set(file, await judge(at(file), requireFile(files, file), sources))
    }
    const notValid = [...verdicts.values()].filter(({ result }) => result === 'not_valid')
    if (notValid.length > 0) return [...rows, ...notValid]
    for (const check of packChecks(pack, seal.list, (await findKeys('service')).byId.values()))
      rows.push(runCheck(folder, check, verdicts.get(check.file)))
  } catch (error) {
    if (!(error instanceof NotValid)) throw error
    rows.push(refusal(at(error.file), error))
  }
  return rows
}

interface Seal {
  readonly row: VerdictRow
  /** Null if unsigned. */
  readonly list: EvidencePack | null
}

/** @throws NotValid if the files differ from the list */
async function readSeal(folder: string, files: PackFiles, findKeys: FindKeys): Promise<Seal> {
  const row = await judge(`${folder}/${listFile}`, requireFile(files, listFile), { findKeys })
  if (row.type !== 'evidence_pack') throw new NotValid(listFile, 'is not the list of an evidence pack')
  if (row.result === 'not_valid') return { row, list: null }
  const list = readSigned(requireFile(files, listFile)).document as unknown as EvidencePack
  requireListed(files, list.files)
  const key = readIn(files, 'profile-key.pem', readPem)
  if (keyIdOf(key) !== list.key_id || publicPem(key) !== requireFile(files, 'profile-key.pem').toString())
    throw new NotValid('profile-key.pem', `is not the PEM of the key of ${listFile}`)
  const detail = `${row.detail}; all ${list.files.length} files that it lists are as they were; later changes are not known`
  return { row: { ...row, detail }, list }
}

/** @throws NotValid if the files differ from the list, or if `profile` is given: the list is unsigned */
function readSums(folder: string, files: PackFiles, { profile }: PackKeys): Seal {
  if (profile)
    throw new NotValid(
      listFile,
      'is missing: nobody signed the list of the files, with the key that was given or another',
    )
  const count = requireSums(files)
  const detail = `nobody signed this list: the ${count} files are as it has them, but others may have been left out, and README.txt and index.html made anew; later changes are not known`
  const row = {
    file: `${folder}/${sumsFile}`,
    type: 'unsealed_pack',
    result: 'unsigned',
    signed_by: null,
    issued_at: null,
    detail,
  } as const
  return { row, list: null }
}

function runCheck(folder: string, { file, type, run }: PackCheck, signed: VerdictRow | undefined): VerdictRow {
  const row = signed ?? {
    file: `${folder}/${file}`,
    type,
    result: 'valid',
    signed_by: null,
    issued_at: null,
    detail: '',
  }
  try {
    const seen = run()
    return { ...row, detail: row.detail === '' ? seen : `${row.detail}; ${seen}` }
  } catch (error) {
    if (!(error instanceof NotValid)) throw error
    return { ...refusal(`${folder}/${error.file}`, error), type }
  }
}

function refusal(file: string, { message }: NotValid): VerdictRow {
  return { file, type: null, result: 'not_valid', signed_by: null, issued_at: null, detail: `it ${message}` }
}

function readIn<T>(files: PackFiles, file: string, read: (text: string, name: string) => T): T {
  const text = requireFile(files, file).toString()
  try {
    return read(text, file)
  } catch (error) {
    throw error instanceof CliError ? new NotValid(file, error.message.replace(`${file} `, '')) : error
  }
}

/** @throws NotValid if the keys of the pack contradict each other */
function keysOf(files: PackFiles, { service, profile }: PackKeys): FindKeys {
  return async signer => {
    const elsewhere = signer === 'service' ? service : profile
    if (elsewhere) return await elsewhere(signer)
    if (signer === 'profile') {
      const byId = trusted([readIn(files, 'profile-key.pem', readPem)])
      const source = 'the one in the pack itself, which shows only that nothing was changed since'
      return { byId, sourceOf: () => source, none: 'not the one in the pack itself' }
    }
    return {
      byId: readIn(files, 'consent-keys.json', readKeySet),
      sourceOf: () => 'the one in the pack itself: compare its id with the operator of the service',
      none: 'none of those in the pack itself',
    }
  }
}
