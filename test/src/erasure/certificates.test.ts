import { http } from 'msw'
import { describe, expect, it } from 'vitest'
import type { ErasureReceipt } from '../../../src/contract/documents/erasure-receipt.ts'
import { makePurgeReceipt } from '../../../src/erasure/certificates.ts'
import type { StoredReceipt } from '../../../src/erasure/receipts.ts'
import type { Signer } from '../../../src/receipts/signer.ts'
import { consent, fails, useCli, uuid } from '../support.ts'
import { erasesSubjects, fakeInstance, freshFolders, lastReceipt, maria } from './fake-instance.ts'

const cli = useCli()

/** Erases some records by the service, whose certificate says this. */
async function eraseCertified(certified: object = {}, records = 3) {
  const instance = fakeInstance(cli, records)
  const erasure = erasesSubjects(cli, instance)
  erasure.certified = certified
  const folders = freshFolders(cli)
  expect(await folders.run('erase', maria, '--ticket', 'T', '--yes')).toMatchObject({ code: 0 })
  const verify = async (...more: string[]) => {
    const { code, stdout } = await folders.run('verify', 'last', '--live', ...more, '-o', 'json')
    const rows = JSON.parse(stdout) as { check: string; result: string; detail: string }[]
    const of = (name: string) => rows.find(({ check }) => check === name)
    return { code, form: of('form'), live: of('live'), subject: of('subject'), certificates: of('certificates') }
  }
  return { instance, verify }
}

describe('subject verify --live', () => {
  it('checks nothing for a receipt without records, unless the subject is given', async () => {
    const { instance, verify } = await eraseCertified({}, 0)
    instance.records.set(uuid(9), consent({ id: uuid(9), subject_id: maria }))
    expect(await verify()).toMatchObject({
      code: 0,
      live: { result: 'skip', detail: expect.stringContaining('--subject') },
    })
    expect(await verify('--subject', maria)).toMatchObject({ code: 10, live: { result: 'fail' } })
    instance.records.clear()
    expect(await verify('--subject', maria)).toMatchObject({ code: 0, live: { result: 'ok' } })
  })

  it('when the receipt is about another person, says so and does not check whether they have records', async () => {
    const { instance, verify } = await eraseCertified()
    instance.records.set(uuid(9), consent({ id: uuid(9), subject_id: 'li' }))
    expect(await verify('--subject', 'li')).toMatchObject({
      code: 5,
      subject: { result: 'fail', detail: 'the receipt is about another data subject' },
      live: { result: 'ok', detail: '3 records of the receipt shown as deleted' },
    })
  })

  const named = (...numbers: number[]) => ({
    erased: numbers.length,
    records: numbers.map(number => ({ id: uuid(number), deleted_at: '2026-11-22T00:00:00.000Z' })),
  })
  it.each([
    ['accepts certificates that list the records of the receipt', {}, null],
    ['rejects documents that are not certificates', { type: 'consent_receipt' }, 'is not an erasure certificate'],
    [
      'rejects certificates of another erasure with the same ticket and count',
      named(7, 8, 9),
      `names the record ${uuid(7)}`,
    ],
    ['rejects certificates that omit a record', named(1, 2), `none names the record ${uuid(3)}`],
    ['rejects certificates of another request', { request_id: 'e-9' }, 'which another request deleted'],
    ['rejects certificates about another person', { subject_hmac: 'b'.repeat(64) }, 'is about another data subject'],
    ['rejects certificates that contradict themselves', { erased: 2 }, 'contradicts itself'],
  ])('%s', async (_, certified, fault) => {
    const { verify } = await eraseCertified(certified)
    expect(await verify('--subject', maria)).toMatchObject({
      code: fault === null ? 0 : 5,
      certificates: { detail: expect.stringContaining(fault ?? 'for the records of this receipt by id') },
    })
  })

  it.each([
    ['name a record that does not verify', { unverified: [uuid(2)] }],
    ['are of another account', { account_id: uuid(9) }],
  ])('rejects a receipt whose certificates %s', async (_, certified) => {
    const { verify } = await eraseCertified(certified)
    const detail = 'it contradicts its certificates'
    expect(await verify()).toMatchObject({ code: 5, form: { result: 'fail', detail } })
  })

  it('requests the account of the key once', async () => {
    const { verify } = await eraseCertified({})
    const asked = () => cli.sent().filter(({ path }) => path.endsWith('/api/v1/caller')).length
    const before = asked()
    expect(await verify('--subject', maria)).toMatchObject({ code: 0 })
    expect(asked() - before).toBe(1)
  })

  it('rejects certificates signed by a key that the service does not publish', async () => {
    const { instance, verify } = await eraseCertified()
    erasesSubjects(cli, instance) // publishes another key
    expect(await verify()).toMatchObject({
      code: 5,
      certificates: { detail: expect.stringMatching(/names the key .+, which is unknown/) },
    })
  })

  it('when certificates are invalid or keys are missing, exits with 5, whether records are live or not', async () => {
    const { instance, verify } = await eraseCertified({ erased: 2 })
    instance.records.set(uuid(9), consent({ id: uuid(9), subject_id: maria }))
    expect(await verify('--subject', maria)).toMatchObject({ code: 5, live: { result: 'fail' } })
    cli.instance.use(http.get('*/.well-known/consent-keys.json', () => fails(404, 'not_found')))
    instance.records.clear()
    expect(await verify('--subject', maria)).toMatchObject({
      code: 5,
      certificates: { detail: expect.stringContaining('publishes no keys') },
    })
  })
})

it('when the certificates contain no record, creates no receipt of a purge (exit 5)', async () => {
  fakeInstance(cli, 2)
  const folders = freshFolders(cli)
  expect(await folders.run('erase', maria, '--ticket', 'T', '--yes')).toMatchObject({ code: 0 })
  const stored = { receipt: await lastReceipt(folders), bytes: Buffer.of() } as unknown as StoredReceipt<ErasureReceipt>
  await expect(makePurgeReceipt({} as Signer, stored, [])).rejects.toMatchObject({ code: 'invalid_data', exit: 5 })
})
