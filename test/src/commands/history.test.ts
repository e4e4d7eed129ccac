import { HttpResponse, http } from 'msw'
import { expect, it } from 'vitest'
import { byId, entry, ndjson, screen, useCli, uuid } from '../support.ts'

const cli = useCli()
const path = `${byId}/history`
const withoutChain = {
  action: null,
  version: null,
  salt: null,
  record_hash: null,
  payload_hash: null,
  hash: null,
}
const entries = [entry({ id: uuid(21) }), entry({ id: uuid(22), accepted: false })]

it('shows the entries in the order of the instance, including those of deleted records', async () => {
  cli.instance.use(http.get(path, () => HttpResponse.json({ data: entries })))
  const { code, stdout, stderr } = await cli.run(['history', '7', '-o', 'ndjson'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const rows = ndjson(stdout)
  expect(rows).toEqual(entries.map(each => ({ ...each, ...withoutChain })))
  expect(cli.sent()).toEqual([{ method: 'GET', path: '/api/v1/consents/7/history', query: {}, body: undefined }])
})

it('on a terminal shows which purposes an entry gave or withdrew, and which other preferences it changed', async () => {
  const states = [
    { marketing: true, channel: 'mail' },
    { marketing: false, channel: 'mail' },
    { marketing: false, a: 1 },
  ]
  const data = states.map((preferences, index) =>
    entry({ id: uuid(30 + index), action: index ? 'updated' : 'created', preferences }),
  )
  cli.instance.use(http.get(path, () => HttpResponse.json({ data })))
  const { stdout } = await cli.run(['history', '7', '--color', 'never'], { ...screen, columns: 110 })
  const rows = stdout.trimEnd().split('\n').slice(1)
  expect(rows[0]).toContain('marketing given, channel: mail')
  expect(rows[1]).toMatch(/ withdrawn +no +marketing withdrawn /)
  expect(rows[1]).not.toContain('channel')
  expect(rows[2]).toContain('channel: mail → none, a: none → 1')
  expect(JSON.parse((await cli.run(['history', '7', '--json'])).stdout)[1].preferences).toEqual(states[1])
})

it('when the instance does not return the acceptance, shows the preferences as they are', async () => {
  const data = [{ ...entry({ id: uuid(30), preferences: { marketing: true } }), accepted: undefined }]
  cli.instance.use(http.get(path, () => HttpResponse.json({ data })))
  const { stdout } = await cli.run(['history', '7', '--color', 'never'], { ...screen, columns: 110 })
  expect(stdout).toContain('marketing: true')
})

it('when a record was imported, shows when each answer was given and recorded', async () => {
  const file_sha256 = 'f1'.repeat(32)
  const told = { given_at: '2021-03-04T05:06:07.891Z', file_sha256 }
  const [imported, changed] = [entry({ action: 'imported', id: uuid(31) }), entry({ action: 'updated', id: uuid(32) })]
  const data = [
    { ...imported, ...told },
    { ...changed, gpc: true },
  ]
  cli.instance.use(http.get(path, () => HttpResponse.json({ data })))
  const { stdout } = await cli.run(['history', '7', '--color', 'never'], { ...screen, columns: 110 })
  const [head = '', first = '', second = ''] = stdout.trimEnd().split('\n')
  expect(head).toMatch(/^CREATED_AT +GIVEN_AT +ACTION /)
  expect(first).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ +2021-03-04 05:06:07\.?\d*Z +imported /)
  expect(second).toMatch(/ yes$/)
  const rows = JSON.parse((await cli.run(['history', '7', '--json'])).stdout)
  expect(rows.map(({ given_at, gpc }: Record<string, unknown>) => [given_at, gpc])).toEqual([
    [told.given_at, undefined],
    [undefined, true],
  ])
  const chosen = await cli.run(['history', '7', '-o', 'tsv', '--columns', 'created_at,given_at,file_sha256'])
  expect(chosen.stdout).toBe(`${imported.created_at}\t${told.given_at}\t${file_sha256}\n${changed.created_at}\t\t\n`)
  cli.instance.use(http.get(path, () => HttpResponse.json({ data: entries })))
  expect((await cli.run(['history', '7'], { ...screen, columns: 110 })).stdout).not.toContain('GIVEN_AT')
})

it('shows until when a purge left a sealed proof, and why', async () => {
  const sealed = { basis: 'a claim', until: '2036-01-31T00:00:00.000Z', proof_hash: 'a'.repeat(64) }
  const data = [entry({ id: uuid(33) }), { ...entry({ id: uuid(34), action: 'purged' }), sealed }]
  cli.instance.use(http.get(path, () => HttpResponse.json({ data })))
  const shown = await cli.run(['history', '7', '--color', 'never'], { ...screen, columns: 200 })
  expect(shown.stdout).toContain('until 2036-01-31 00:00:00Z: a claim')
})

it('when circumstances were told, shows them in words, and with --json by field', async () => {
  const circumstances = { method: 'paper', form: 'F-12', given_by: 'guardian', relation: 'mother', note: 'a\u001b[31m' }
  const data = [{ ...entry({ id: uuid(33) }), circumstances }, entry({ id: uuid(34), accepted: false })]
  cli.instance.use(http.get(path, () => HttpResponse.json({ data })))
  const { stdout } = await cli.run(['history', '7', '--color', 'never'], { ...screen, columns: 200 })
  expect(stdout).toContain('method paper, form F-12, given by guardian, relation mother, note a')
  expect(stdout).not.toContain('\u001b[31m')
  const [first, second] = JSON.parse((await cli.run(['history', '7', '--json'])).stdout)
  expect([first.circumstances, Object.hasOwn(second, 'circumstances')]).toEqual([circumstances, false])
})

it('on a terminal, shows the preferences of a purged record as purged', async () => {
  const data = ['created', 'deleted', 'purged'].map((action, index) => entry({ id: uuid(40 + index), action }))
  cli.instance.use(http.get(path, () => HttpResponse.json({ data })))
  const { stdout } = await cli.run(['history', '7', '--color', 'never'], { ...screen, columns: 80 })
  for (const line of stdout.trimEnd().split('\n').slice(1)) expect(line).toMatch(/ (yes|no) +purged /)
})

it('on a terminal, starts each of several histories with its record', async () => {
  cli.instance.use(http.get(path, () => HttpResponse.json({ data: entries })))
  const { stdout } = await cli.run(['history', '7', '8'], { ...screen, columns: 80 })
  expect(stdout).toMatch(/^(.\[1m)?CONSENT_ID/)
})
