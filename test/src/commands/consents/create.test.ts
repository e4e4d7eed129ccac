import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { useFolder } from '../../../support/cli.ts'
import {
  answers,
  apiKey,
  consent,
  consentsPath,
  expectExit,
  expectNoStdout,
  expectUnsent,
  site,
  useCli,
  uuid,
} from '../../support.ts'

const cli = useCli()
const folder = useFolder()

/** Runs a create that succeeds, and gives the body it sent. */
async function bodyOf(args: string[], stdin = ''): Promise<unknown> {
  cli.instance.use(answers('post', consentsPath, consent(), 201))
  const ran = await cli.run(['create', '--site', site, ...args], { stdin })
  expectExit(ran, 0, /^created 1 record on default@127\.0\.0\.1:\d+\n$/)
  expect(cli.sent()).toHaveLength(1)
  return cli.sent()[0]?.body
}

describe('create: request', () => {
  it('sends every flag as its field, and the key as a bearer token', async () => {
    const flags = [
      ['--consent-id', 'banner'],
      ['--subject', 'maria@example.com'],
      ['--accepted'],
      ['--pref', 'marketing=true'],
      ['--policy-version', '3'],
      ['--ip-address', '203.0.113.7'],
      ['--user-agent', 'Mozilla/5.0 (X11)'],
      ['--notice-locale', 'de'],
      ['--method', 'paper', '--channel', 'shop 3', '--form', 'F-12', '--form-sha256', 'f2'.repeat(32)],
      ['--given-by', 'guardian', '--relation', 'mother', '--confirmed-at', '2026-01-31 09:30Z'],
      ['--reference', 'K-77', '--note', 'signed'],
    ].flat()
    expect(await bodyOf(flags)).toEqual({
      site_id: site,
      consent_id: 'banner',
      subject_id: 'maria@example.com',
      accepted: true,
      preferences: { marketing: true },
      policy_version: 3,
      ip_address: '203.0.113.7',
      user_agent: 'Mozilla/5.0 (X11)',
      notice_locale: 'de',
      circumstances: {
        ...{ method: 'paper', channel: 'shop 3', form: 'F-12', form_sha256: 'f2'.repeat(32), given_by: 'guardian' },
        ...{ relation: 'mother', confirmed_at: '2026-01-31T09:30:00.000Z', reference: 'K-77', note: 'signed' },
      },
    })
    const [request] = cli.instance.requests
    expect(request).toMatchObject({ method: 'POST', url: '/api/v1/consents' })
    expect(request?.headers).toMatchObject({
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'user-agent': expect.stringMatching(/^consentctl\/\d+\.\d+\.\d+ node\/v\d+/),
    })
  })

  it.each([
    [['--accepted'], { site_id: site, accepted: true }],
    [['--refused'], { site_id: site, accepted: false }],
    [['--subject', 'a'], { site_id: site, subject_id: 'a' }],
  ])('sends one of three states of acceptance: %j', async (flags, body) => {
    expect(await bodyOf(flags)).toEqual(body)
  })

  it.each([
    ['a=true', true],
    ['a=false', false],
    ['a=null', null],
    ['a=3', 3],
    ['a=-0.5', -0.5],
    ['a=1e3', 1000],
    ['a="3"', '3'],
    ['a=granted', 'granted'],
    ['a=True', 'True'],
    ['a=007', '007'],
    ['a=""', ''],
    ['a=b=c', 'b=c'],
    ['a= true', true],
    ['a={"b":[1,null]}', { b: [1, null] }],
    ['a=[]', []],
    ['a={not json}', '{not json}'],
    ['a=zoë 同意', 'zoë 同意'],
  ])('--pref %s is typed', async (pair, value) => {
    expect(await bodyOf(['--pref', pair])).toEqual({ site_id: site, preferences: { a: value } })
  })

  it('combines several --pref into one object', async () => {
    expect(await bodyOf(['--pref', 'a=1', '--pref', 'b.c=2', '--pref', 'constructor=3'])).toMatchObject({
      preferences: { a: 1, 'b.c': 2, constructor: 3 },
    })
  })

  it('reads preferences from a file, and --pref overrides them', async () => {
    const file = join(folder.path, 'preferences.json')
    writeFileSync(file, '\ufeff{"a": 1, "b": {"c": [true]}}\n')
    const args = ['--preferences', `@${file}`, '--pref', 'a=2']
    expect(await bodyOf(args)).toMatchObject({ preferences: { a: 2, b: { c: [true] } } })
  })

  it('reads preferences from standard input with --preferences -', async () => {
    expect(await bodyOf(['--preferences', '-'], '{"marketing": false}')).toMatchObject({
      preferences: { marketing: false },
    })
  })

  it('uses CONSENTCTL_SITE without --site', async () => {
    cli.instance.use(answers('post', consentsPath, consent(), 201))
    await cli.run(['create', '--refused'], { env: { CONSENTCTL_SITE: site } })
    await cli.run(['create', '--site', uuid(5), '--refused'], { env: { CONSENTCTL_SITE: site } })
    expect(cli.sent()).toMatchObject([{ body: { site_id: site } }, { body: { site_id: uuid(5) } }])
  })

  it('when the instance cannot list sites, sends the site unchanged', async () => {
    cli.instance.use(
      answers('post', consentsPath, consent(), 201),
      answers('get', '*/api/v1/sites', { error: 'not_found', message: 'x' }, 404),
    )
    const ran = await cli.run(['create', '--site', 'shop 1', '--refused'])
    expectExit(ran, 0, 'does not list its sites to this key, so the site is used as an id')
    expect(cli.sent()).toMatchObject([{ path: '/api/v1/sites' }, { body: { site_id: 'shop 1' } }])
  })
})

describe('create: output', () => {
  const record = consent({ id: uuid(77) })

  it('prints nothing on stderr with -q', async () => {
    cli.instance.use(answers('post', consentsPath, record, 201))
    const ran = await cli.run(['create', '--site', site, '--refused', '-q'])
    expect(ran).toEqual({ code: 0, stdout: `${uuid(77)}\n`, stderr: '' })
  })

  it('names the profile and the host', async () => {
    cli.instance.use(answers('post', consentsPath, record, 201))
    const { stderr } = await cli.run(['create', '--site', site, '--refused', '-p', 'shop'])
    expect(stderr).toBe(`created 1 record on shop@${new URL(cli.instance.url).host}\n`)
  })
})

describe('create: errors before any request', () => {
  it.each([
    [2, ['--accepted', '--refused']],
    [2, ['--policy-version', 'two']],
    [2, ['--policy-version', '-1']],
    [2, ['--pref', 'marketing']],
    [2, ['--pref', '=true']],
    [2, ['--pref', '__proto__=1']],
    [2, ['--preferences', '{"a":1}']],
    [2, ['--preferences', '@/nowhere/none.json']],
    [2, ['--file', '-', '--subject', 'x']],
    [2, ['--file', '/nowhere/none.ndjson', '-q']],
    [5, ['--pref', 'a=9007199254740993']],
    [5, ['--pref', 'a=1e400']],
    [5, ['--pref', 'a={"b":1,"b":2}']],
    [5, ['--pref', 'a={"__proto__":1}']],
    [5, ['--pref', `a=${'['.repeat(8)}${']'.repeat(8)}`]],
    [5, ['--pref', `a=${'x'.repeat(16_384)}`]],
  ])('exits with %i: %j', async (exit, flags) => {
    expectNoStdout(await cli.run(['create', '--site', site, ...flags, '-o', 'json']), exit, { exit, retryable: false })
    expect(cli.sent()).toEqual([])
  })

  it.each([
    ['', 'is not valid JSON'],
    ['[1]', 'is not a JSON object'],
    ['null', 'is not a JSON object'],
    ['{"a":1', 'is not valid JSON'],
    ['{"a":1,"a":2}', 'has the key "a" twice'],
    [Buffer.from([0x7b, 0xff, 0x7d]), 'is not valid UTF-8'],
  ])('rejects preferences that are not an exact JSON object: %j', async (stdin, problem) => {
    const ran = await cli.run(['create', '--site', site, '--preferences', '-'], { stdin })
    expectExit(ran, 5, `standard input ${problem}`)
    expect(cli.sent()).toEqual([])
  })

  it.each([[[]], [['--dry-run']]])('exits with a usage error without any field: %j', async flags => {
    expectUnsent(cli, await cli.run(['create', ...flags], { env: { CONSENTCTL_SITE: site } }), '--subject is missing')
  })

  it('creates nothing without a subject, on a terminal', async () => {
    const terminal = { tty: { stdin: true, stderr: true }, stdin: '\n' }
    const ran = await cli.run(['create'], { ...terminal, env: { CONSENTCTL_SITE: site } })
    expectExit(ran, 9, 'Subject (whose consent it is): ')
    expect(cli.sent()).toEqual([])
  })

  it('exits with a usage error without a site', async () => {
    expectUnsent(cli, await cli.run(['create', '--accepted']), '--site')
  })

  it('rejects a preference without a value, and shows how to set an empty text', async () => {
    const ran = await cli.run(['create', '--site', 's', '--pref', 'marketing='])
    expectUnsent(cli, ran, `try: for an empty text: --pref 'marketing=""'`)
  })

  it('exits with a usage error when a preference is given twice', async () => {
    expectExit(await cli.run(['create', '--site', 's', '--pref', 'a=1', '--pref', 'a=2']), 2, '--pref a is repeated')
    expect(cli.sent()).toEqual([])
  })
})
