import type { EvidencePack } from '../../contract/documents/evidence-pack.ts'
import { listFile, NotValid, type PackFiles, readPack, requireFile } from '../../evidence/pack.ts'
import { type PackCheck, packChecks, requireListed } from '../../evidence/pack-checks.ts'
import { readSigned } from '../../evidence/signed.ts'
import type { VerdictRow } from '../../views/verification.ts'
import { judge } from './judge.ts'
import { type FindKeys, readKeySet, readPem, trusted } from './keys.ts'

/** Keys from elsewhere, instead of those in the pack. */
export interface PackKeys {
  readonly service?: FindKeys | undefined
  readonly profile?: FindKeys | undefined
}

/** Verifies the evidence pack of a folder, whose name begins that of every row. Ends after `pack.json` if the files are not those that it lists. */
export async function verifyPack(folder: string, files: PackFiles, given: PackKeys): Promise<VerdictRow[]> {
  const rows: VerdictRow[] = []
  const at = (file: string) => `${folder}/${file}`
  try {
    const findKeys = keysOf(files, given)
    const listed = await judge(at(listFile), requireFile(files, listFile), findKeys)
    rows.push(listed)
    if (listed.type !== 'evidence_pack') throw new NotValid(listFile, 'is not the list of an evidence pack')
    if (listed.result === 'not_valid') return rows
    const list = readSigned(requireFile(files, listFile)).document as unknown as EvidencePack
    requireListed(files, list.files)
    rows[0] = { ...listed, detail: `${listed.detail}; all ${list.files.length} files that it lists are as they were` }
    for (const check of packChecks(readPack(files), list, (await findKeys('service')).byId.values())) {
      const signed = isSigned(check.file, check.type)
        ? await judge(at(check.file), requireFile(files, check.file), findKeys)
        : null
      rows.push(signed?.result === 'not_valid' ? signed : runCheck(folder, check, signed))
    }
    if (files.has('newer-checkpoint.json'))
      rows.push(await judge(at('newer-checkpoint.json'), requireFile(files, 'newer-checkpoint.json'), findKeys))
  } catch (error) {
    if (!(error instanceof NotValid)) throw error
    rows.push(refusal(at(error.file), error))
  }
  return rows
}

function isSigned(file: string, type: string): boolean {
  return ['consent_receipt', 'checkpoint'].includes(type) && file.endsWith('.json')
}

function runCheck(folder: string, { file, type, run }: PackCheck, signed: VerdictRow | null): VerdictRow {
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

/** @throws NotValid if the keys of the pack contradict each other */
function keysOf(files: PackFiles, { service, profile }: PackKeys): FindKeys {
  const text = (file: string) => requireFile(files, file).toString()
  return async signer => {
    const elsewhere = signer === 'service' ? service : profile
    if (elsewhere) return await elsewhere(signer)
    if (signer === 'profile') {
      const byId = trusted([readPem(text('profile-key.pem'), 'profile-key.pem')])
      return { byId, source: 'the one in the pack itself, which shows only that nothing was changed since' }
    }
    return {
      byId: readKeySet(text('consent-keys.json'), 'consent-keys.json'),
      source: 'the one in the pack itself: compare its id with the operator of the service',
    }
  }
}
