import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { newSigningKey } from '../../../src/evidence/keys.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { useFolder } from '../../support/cli.ts'
import { receiptOf, signedReceipt } from '../signed-consent-receipt.ts'
import { acting, answers, byId, expectExit, expectNoStdout, fails, useCli, uuid } from '../support.ts'

const cli = useCli()
const folder = useFolder()
const id = uuid(1)
const text = signedReceipt()

const answering = (body: string, type = 'application/json') =>
  cli.instance.use(http.get(`${byId}/receipt`, () => new HttpResponse(body, { headers: { 'content-type': type } })))
const describing = (...paths: string[]) =>
  cli.instance.use(
    answers('get', '*/api/v1/openapi.json', {
      paths: Object.fromEntries(paths.map(path => [path, { get: {} }])),
    }),
  )

describe('receipt', () => {
  it('prints the receipt byte for byte as the instance sent it', async () => {
    answering(text)
    expect(await cli.run(['receipt', id])).toEqual({ code: 0, stdout: text, stderr: '' })
    expect(cli.sent()).toEqual([{ method: 'GET', path: `/api/v1/consents/${id}/receipt`, query: {}, body: undefined }])
  })

  it('writes the receipt to a new file that only its owner can read, and never overwrites a file', async () => {
    answering(text)
    const file = join(folder.path, 'receipt.json')
    const ran = await cli.run(['receipt', id, '--out', file])
    expect(ran).toEqual({ code: 0, stdout: '', stderr: `wrote ${file}\n` })
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([text, 0o600])
    writeFileSync(file, 'mine')
    expect(await cli.run(['receipt', id, '--out', file])).toMatchObject({ code: 2, stdout: '' })
    expect(readFileSync(file, 'utf8')).toBe('mine')
    expect(cli.sent()).toHaveLength(1)
  })

  it.each<[what: string, body: string]>([
    ['has a colour in it', text.replace('"dpv:Consent"', '"\u001b[31mdpv:Consent"')],
    ['has a bidirectional control in it', text.replace('\\u202e', '\u202e')],
    ['is not signed', JSON.stringify(receiptOf())],
    ['has a key twice', text.replace('"record_version": 1,', '"record_version": 1,\n  "record_version": 1,')],
    ['is of another record', signedReceipt({ record_id: uuid(2) })],
    ['is another document', signDocument({ type: 'checkpoint', version: 1, key_id: 'x'.repeat(43) }, newSigningKey())],
    ['is empty', ''],
  ])('rejects a response that %s, and prints nothing from it', async (_what, body) => {
    answering(body)
    const ran = await cli.run(['receipt', id])
    expectNoStdout(ran, 2, /is not a receipt|is not JSON/)
    expect(ran.stderr).not.toMatch(acting)
  })

  it('reports a response from other software as unexpected_answer', async () => {
    answering('<h1>sign in</h1>', 'text/html')
    expectExit(await cli.run(['receipt', id, '-o', 'json']), 2, { code: 'unexpected_answer' })
  })
})

describe('receipt › 404', () => {
  it('when the instance issues receipts, reports a missing record', async () => {
    describing('/api/v1/consents/{id}/receipt')
    cli.instance.use(http.get(`${byId}/receipt`, () => fails(404, 'not_found')))
    const ran = await cli.run(['receipt', id])
    expectExit(ran, 3, `no consent with id ${id} (not_found)\ntry: a deleted record has no receipt`)
  })

  it.each<[what: string, describe: () => void]>([
    ['has other routes alone', () => describing('/api/v1/consents/{id}')],
    ['has no description', () => cli.instance.use(http.get('*/openapi.json', () => fails(404, 'not_found')))],
  ])('when it %s, says that the instance does not issue receipts', async (_what, describe) => {
    describe()
    for (const answer of [fails(404, 'not_found'), new HttpResponse('<h1>Nothing</h1>', { status: 404 })]) {
      cli.instance.use(http.get(`${byId}/receipt`, () => answer.clone() as HttpResponse<string>))
      expectExit(await cli.run(['receipt', id]), 2, /issues no receipts \(not_offered\)\ntry: consentctl history/)
    }
  })
})
