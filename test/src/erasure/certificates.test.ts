import { http } from 'msw'
import { describe, expect, it } from 'vitest'
import { consent, fails, useCli, uuid } from '../support.ts'
import { erasesSubjects, fakeInstance, freshFolders, maria } from './fake-instance.ts'

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
    return { code, live: of('live'), certificates: of('certificates') }
  }
  return { instance, verify }
}

describe('subject verify --live', () => {
  it('checks nothing of a receipt without records, unless the subject is named', async () => {
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

  it.each([
    ['accepts certificates of the service that count what the receipt counts', {}, null],
    ['refuses certificates that count fewer records', { erased: 2 }, 'count 2 records'],
    ['refuses certificates that count more records', { erased: 4 }, 'count 4 records'],
    ['refuses certificates of another request', { ticket: 'T-9' }, 'is for another ticket'],
    ['refuses documents that are not certificates', { type: 'consent_receipt' }, 'is not an erasure certificate'],
  ])('%s', async (_, certified, fault) => {
    const { verify } = await eraseCertified(certified)
    expect(await verify('--subject', maria)).toMatchObject({
      code: fault === null ? 0 : 5,
      certificates: { detail: expect.stringContaining(fault ?? 'each signed by a key that it publishes') },
    })
  })

  it('refuses certificates that are signed by a key which the service does not publish', async () => {
    const { instance, verify } = await eraseCertified()
    erasesSubjects(cli, instance) // publishes another key
    expect(await verify()).toMatchObject({
      code: 5,
      certificates: { detail: expect.stringContaining('a key that the service does not publish') },
    })
  })

  it('ends with 5 if certificates are invalid or keys are missing, whatever is live', async () => {
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
