import { createHash, randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { Consent, ImportRow } from '../../../src/contract/index.ts'
import type { ServiceResponse, TestNode, TestService } from '../../support/service.ts'
import { makeKey } from '../keys/keys.ts'
import { newOwner, root } from './records.ts'

export type Outcome = {
  readonly status: number
  readonly consent: Consent
  readonly replayed: boolean
  readonly error: { readonly error: string; readonly message: string }
  readonly retry_after: number | null
}

export const fileDigest = createHash('sha256').update('a file').digest('hex')

export type Importer = Awaited<ReturnType<typeof newImporter>>

/** A new account with a key for imports. */
export async function newImporter(service: TestService) {
  const owner = await newOwner(service)
  const { id: importKeyId, key: importKey } = await makeKey(service, await service.signIn(owner), {
    scopes: ['import'],
  })
  const row = (id: string, fields: object = {}): ImportRow => ({
    site_id: owner.siteId,
    subject_id: `subject of ${id}`,
    policy_version: 3,
    origin: { system: 'usercentrics', id },
    file_sha256: fileDigest,
    given_at: '2021-03-04T05:06:07.891Z',
    accepted: true,
    preferences: { marketing: true },
    ...fields,
  })
  const sendRows = (records: readonly unknown[], node: TestNode = service): Promise<ServiceResponse> =>
    node.call('POST', `${root}/batch`, { key: importKey, body: { records } })
  const sendAll = async (records: readonly unknown[], node?: TestNode): Promise<Outcome[]> => {
    const answer = await sendRows(records, node)
    if (answer.status !== 200) throw new Error(answer.text)
    return answer.body.results
  }
  /** Returns the id of the record. */
  const importOne = async (fields: object): Promise<string> => {
    const [outcome] = await sendAll([row(randomUUID(), fields)])
    expect(outcome).toMatchObject({ status: 201, replayed: false })
    return outcome?.consent.id ?? ''
  }
  return { ...owner, importKeyId, importKey, row, sendRows, sendAll, importOne }
}
