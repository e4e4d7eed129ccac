import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { answers, expectExit, expectNoStdout, fails, site, useCli, uuid } from '../support.ts'

const cli = useCli()
const path = '*/api/v1/subjects/check'
const subject = 'maria@example.com'
const at = '2026-11-22T21:00:00.000Z'

const record = {
  id: uuid(1),
  site_id: site,
  accepted: true,
  answer: true,
  policy_version: 2,
  version: 1,
  created_at: '2026-01-31T09:30:00.000Z',
  stated_at: '2026-01-31T09:30:00.000Z',
}
const notice = {
  policy_version: 2,
  languages: ['de', 'en'],
  locale: 'de',
  purposes: ['marketing'],
  controller: null,
  valid_for: 'P1Y',
  published_at: '2026-01-01T00:00:00.000Z',
  effective_from: null,
  entry: 7,
}
const yes = {
  allowed: true,
  reason: 'consented',
  subject_id: subject,
  purpose: 'marketing',
  site_id: site,
  at,
  record,
  notice,
  expires_at: '2027-01-31T09:30:00.000Z',
  renewal: null,
  origin: null,
  given_at: null,
  witnessed: true,
}
const renewal = {
  policy_version: 3,
  published_at: '2026-06-01T00:00:00.000Z',
  effective_from: '2026-07-01T00:00:00.000Z',
}
const no = (reason: string, fields: object = {}) => ({ ...yes, allowed: false, reason, ...fields })

const check = (...more: string[]) => cli.run(['check', subject, '--purpose', 'marketing', ...more])

describe('check', () => {
  it.each([
    [
      0,
      yes,
      `yes: ${subject} consents to marketing (record ${uuid(1)}, last answer 2026-01-31 09:30Z; notice 2 in de of 2026-01-01 00:00Z; valid until 2027-01-31 09:30Z)`,
    ],
    [
      10,
      no('refused', { record: { ...record, answer: false }, notice: 'not held', expires_at: null }),
      `no: ${subject} has refused marketing (record ${uuid(1)}, last answer 2026-01-31 09:30Z; policy version 2, notice not held)`,
    ],
    [
      10,
      no('withdrawn', { record: { ...record, answer: false }, notice: { ...notice, locale: null } }),
      `no: ${subject} has withdrawn marketing (record ${uuid(1)}, last answer 2026-01-31 09:30Z; notice 2 in de or en of`,
    ],
    [10, no('expired'), `no: the consent of ${subject} to marketing expired at 2027-01-31 09:30Z (record`],
    [10, no('purpose_not_in_notice'), `no: the notice that ${subject} accepted does not name marketing (record`],
    [
      10,
      no('renewal_required', { renewal }),
      `and notice 3 requires a renewal (record ${uuid(1)}, last answer 2026-01-31 09:30Z; notice 2 in de of 2026-01-01 00:00Z; notice 3 in effect since 2026-07-01 00:00Z)`,
    ],
    [10, no('suspended'), 'no: suspended (record'],
    [3, no('purpose_not_answered', { allowed: null }), `unknown: ${subject} has not answered for marketing (record`],
    [
      3,
      no('no_record', { allowed: null, record: null, notice: null, witnessed: null }),
      `unknown: there is no record of ${subject} on this site\n`,
    ],
  ])('exits with %i and states the reason in a sentence', async (code, answer, sentence) => {
    cli.instance.use(answers('get', path, answer))
    const ran = await check('--json')
    expect(ran.code).toBe(code)
    expect(JSON.parse(ran.stdout)).toEqual(answer)
    expect(ran.stderr).toContain(sentence)
    expect(cli.sent()[0]?.query).toEqual({ subject_id: subject, purpose: 'marketing' })
  })

  it.each([
    ['refused', `${subject} has refused as a whole, although the record has true for marketing (record`],
    ['withdrawn', `${subject} has withdrawn the consent, although the record has true for marketing (record`],
  ])('when a record is %s and has true for the purpose, says what was refused', async (reason, sentence) => {
    cli.instance.use(answers('get', path, no(reason, { record: { ...record, accepted: false, answer: true } })))
    expectExit(await check(), 10, `no: ${sentence}`)
  })

  it.each([
    ['no_record', null, `no answer of ${subject} on this site was witnessed here: imported ones do not count\n`],
    [
      'purpose_not_answered',
      record,
      `no answer of ${subject} for marketing was witnessed here: imported ones do not count`,
    ],
  ])('with --only-witnessed, says for %s that imported answers do not count', async (reason, found, sentence) => {
    cli.instance.use(answers('get', path, no(reason, { allowed: null, record: found, witnessed: found && true })))
    expectExit(await check('--only-witnessed'), 3, `unknown: ${sentence}`)
  })

  const told = {
    origin: { system: 'acme', id: '4711', evidence: null },
    given_at: '2020-05-01T10:00:00.000Z',
    witnessed: false,
    record: { ...record, stated_at: '2020-05-01T10:00:00.000Z' },
    notice: 'not held',
    expires_at: null,
  }
  it.each([
    [{}, 'last answer 2020-05-01 10:00Z; as told by acme, imported 2026-01-31 09:30Z; policy version 2'],
    [
      { at: '2020-06-01T00:00:00.000Z' },
      'as told by acme, imported 2026-01-31 09:30Z, after this moment: the importer’s word alone; policy version 2',
    ],
    [{ witnessed: true }, 'imported 2026-01-31 09:30Z from acme and changed here since; policy version 2'],
    [{ origin: { ...told.origin, system: 'a\u202eb\u001b[2J' } }, 'as told by a\\u{202e}b\\u{1b}[2J, imported'],
  ])('names the source of an imported answer: %j', async (fields, sentence) => {
    cli.instance.use(answers('get', path, { ...yes, ...told, ...fields }))
    expectExit(await check(), 0, sentence)
  })

  it('adds the columns of an import after the existing ones', async () => {
    cli.instance.use(answers('get', path, { ...yes, ...told }))
    const { stdout } = await check('-o', 'tsv', '--header')
    expect(stdout.split('\n')[0]?.split('\t').slice(-4)).toEqual(['renewal', 'origin', 'given_at', 'witnessed'])
    expect(stdout.split('\n')[1]).toMatch(/\t\{"system":"acme",.*\}\t2020-05-01T10:00:00.000Z\tfalse$/)
  })

  it('with --only-witnessed, rejects the response of an instance that does not support it', async () => {
    cli.instance.use(answers('get', path, yes))
    expect((await check('--only-witnessed')).code).toBe(0)
    expect(cli.sent()[0]?.query).toMatchObject({ only_witnessed: 'true' })
    const { origin: _, given_at: __, witnessed: ___, ...older } = yes
    const refusal = { error: 'invalid_request', message: 'no' }
    const parameters = [{ in: 'query', name: 'subject_id' }]
    const described = { openapi: '3.1.1', paths: { '/api/v1/subjects/check': { get: { parameters } } } }
    for (const answer of [
      answers('get', path, older),
      answers('get', path, { ...yes, ...told }),
      answers('get', path, refusal, 400),
    ]) {
      cli.instance.use(answer, answers('get', '*/api/v1/openapi.json', described))
      expectNoStdout(await check('--only-witnessed', '--json'), 2, { code: 'not_offered' })
    }
  })

  it('sends the site and the end of the day of --at', async () => {
    cli.instance.use(answers('get', path, yes))
    expect((await check('--site', site, '--at', '2026-03-03', '-q')).stdout).toBe(`${uuid(1)}\n`)
    const query = { subject_id: subject, purpose: 'marketing', site_id: site, at: '2026-03-03T23:59:59.999Z' }
    expect(cli.sent()[0]?.query).toEqual(query)
  })

  it('reads one identifier from standard input', async () => {
    cli.instance.use(answers('get', path, yes))
    const read = (stdin: string) => cli.run(['check', '-', '--purpose', 'marketing'], { stdin })
    expect((await read(`${subject}\n`)).code).toBe(0)
    expect(cli.sent()[0]?.query).toMatchObject({ subject_id: subject })
    expect((await read(`${subject}\nother\n`)).code).toBe(2)
    expect((await read('')).code).toBe(5)
    expect(cli.instance.requests).toHaveLength(1)
  })

  it.each([
    [['check', subject], 2],
    [['check', '--purpose', 'marketing'], 2],
    [['check', subject, '--purpose', ''], 2],
    [['check', '', '--purpose', 'marketing'], 2],
    [['check', subject, 'other', '--purpose', 'marketing'], 2],
    [['check', subject, '--purpose', 'marketing', '--at', '2999-01-01'], 2],
  ])('rejects %j before any request', async (args, code) => {
    expect((await cli.run(args as string[])).code).toBe(code)
    expect(cli.instance.requests).toEqual([])
  })

  const errors: [status: number, error: string, exit: number][] = [
    [400, 'invalid_request', 5],
    [401, 'unauthorized', 4],
    [403, 'forbidden', 4],
    [404, 'not_found', 2],
    [404, 'no_such_thing', 2],
    [429, 'quota_exceeded', 6],
    [500, 'internal_error', 7],
    [503, 'read_only', 7],
  ]
  it.each(errors)('does not treat an error (%i %s) as an answer', async (status, error, exit) => {
    const paths = { '/api/v1/subjects/check': { get: { parameters: [] } } }
    cli.instance.use(http.get(path, () => fails(status, error)))
    cli.instance.use(answers('get', '*/api/v1/openapi.json', { openapi: '3.1.1', paths }))
    expectNoStdout(await check('--json'), exit, { exit })
  })

  it.each([
    ['null', 'null'],
    ['an answer that is not one', JSON.stringify({ ...yes, allowed: 'yes' })],
    ['a record', JSON.stringify(record)],
    ['a page of a proxy', '<html>'],
  ])('does not treat %s as an answer', async (_, text) => {
    cli.instance.use(http.get(path, () => new HttpResponse(text, { headers: { 'content-type': 'application/json' } })))
    const { code, stdout } = await check('--json')
    expect([0, 3, 10]).not.toContain(code)
    expect(stdout).toBe('')
  })

  it('when the instance has only the six routes, exits with 2 (not_offered) without another request', async () => {
    cli.instance.use(http.get('*/api/v1/*', () => fails(404, 'not_found')))
    expectExit(await check('--json'), 2, { code: 'not_offered' })
    expect(cli.sent().map(sent => sent.path)).toEqual(['/api/v1/subjects/check', '/api/v1/openapi.json'])
  })
})
