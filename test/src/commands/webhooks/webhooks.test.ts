import { describe, expect, it } from 'vitest'
import { siteOf, sitesPath } from '../../session-fixtures.ts'
import { answers, expectExit, expectNoStdout, expectUnsent, jsonOf, screen, useCli, uuid } from '../../support.ts'
import {
  attemptOf,
  failing,
  newWebhookOf,
  webhookOf,
  webhookPath,
  webhookSecret,
  webhooksPath,
} from '../../webhook-fixtures.ts'

const cli = useCli()
const id = webhookOf().id
const url = 'https://crm.example.com/consents'
const yesNo = (stdin: string) => ({ stdin, tty: { stdin: true, stderr: true } })
const webhooks = (...args: string[]) => cli.run(['webhooks', ...args])

/** Expects one request, and returns it in short. */
function onlySent() {
  const [request, ...more] = cli.sent()
  expect(more).toEqual([])
  return [`${request?.method} ${request?.path}`, request?.body]
}

describe('webhooks list', () => {
  const listing = () =>
    cli.instance.use(answers('get', webhooksPath, { data: [failing, webhookOf({ state: 'paused' })] }))

  it('shows states, and since when one is failing', async () => {
    listing()
    const { code, stdout, stderr } = await cli.run(['webhooks', 'list'], { ...screen, columns: 160 })
    expect([code, stderr.split('\n').at(-2)]).toEqual([0, '2 webhooks'])
    expect(stdout).toMatch(/failing since 2026-01-31 08:15Z.* +3 +2026-01-31 10:30Z/)
    expect(stdout).toMatch(/paused.* +all +all +41 +v1\n/)
  })

  it('shows in 80 columns which are failing, and where they lead', async () => {
    listing()
    const { stdout } = await cli.run(['webhooks', 'list', '--color', 'never'], { ...screen, columns: 80 })
    expect(stdout.split('\n').map(line => line.trim().split(/ +/))).toMatchObject([
      ['ID', 'URL', 'STATE'],
      [failing.id, expect.stringMatching(/^https:/), 'failing'],
      [id, expect.stringMatching(/^https:/), 'paused'],
      [''],
    ])
  })

  it('when the instance has no webhooks, exits with 2 and says so', async () => {
    cli.instance.use(
      answers('get', webhooksPath, { error: 'not_found', message: 'no' }, 404),
      answers('get', '*/api/v1/openapi.json', { paths: {} }),
    )
    expectNoStdout(await webhooks('list', '--json'), 2, { code: 'not_offered' })
  })

  it('when the key lacks the scope, exits with 4 and names it', async () => {
    cli.instance.use(answers('get', webhooksPath, { error: 'forbidden', message: 'no', reason: 'missing_scope' }, 403))
    expectNoStdout(await webhooks('list'), 4, '--scope webhooks')
  })
})

describe('webhooks show', () => {
  it('on a terminal, prints the attempts as a table below the webhook', async () => {
    cli.instance.use(answers('get', webhookPath, failing))
    const { stdout } = await cli.run(['webhooks', 'show', failing.id, '--color', 'never'], screen)
    expect(stdout).toMatch(/^STATE +failing$/m)
    expect(stdout).toMatch(/^FAILING_SINCE +2026-01-31T08:15:00.000Z\n(?:.*\n)*\nAT +POSITION +STATUS +MS +PROBLEM\n/m)
    expect(stdout).toMatch(/^2026-01-31 09:30:07Z +42 +500 +34 +answered 500\n/m)
    expect(stdout).toMatch(/^2026-01-31 09:30:07Z +42 +34 +no answer \(ECONNREFUSED\)\n$/m)
    expect(stdout).not.toContain('ATTEMPTS')
  })

  it('in JSON has the attempts as a field, also alone', async () => {
    cli.instance.use(answers('get', webhookPath, failing))
    expect(jsonOf(await webhooks('show', failing.id, '--json'), 0, '')).toEqual(failing)
    expect(jsonOf(await webhooks('show', failing.id, '--json=attempts'), 0, '')).toEqual({ attempts: failing.attempts })
  })

  it('when there is no such webhook, exits with 3', async () => {
    cli.instance.use(
      answers('get', webhookPath, { error: 'not_found', message: 'There is no such webhook.' }, 404),
      answers('get', '*/api/v1/openapi.json', { paths: { '/api/v1/webhooks': { get: {} } } }),
    )
    expectNoStdout(await webhooks('show', id), 3, `no webhook with id ${id} (not_found)`, 'webhooks list')
  })
})

describe('webhooks create', () => {
  const creating = () =>
    cli.instance.use(
      answers('post', webhooksPath, newWebhookOf(), 201),
      answers('get', sitesPath, { data: [siteOf({ id: uuid(7), name: 'Shop' })] }),
    )

  it.each([
    [[], { url }],
    [['--ed25519'], { url, signature: 'v1a' }],
    [['--type', 'withdrawn', '--type', 'account.hold_added'], { url, types: ['withdrawn', 'account.hold_added'] }],
    [['--site', uuid(8)], { url, site_ids: [uuid(8)] }],
  ])('sends only what is given: %j', async (flags, body) => {
    creating()
    expect(await webhooks('create', url, ...flags)).toMatchObject({ code: 0 })
    expect(onlySent()).toEqual(['POST /api/v1/webhooks', body])
  })

  it('finds sites by their names, each once', async () => {
    creating()
    await webhooks('create', url, '--site', 'Shop', '--site', uuid(7), '--site', uuid(8))
    expect(cli.sent().at(-1)?.body).toEqual({ url, site_ids: [uuid(7), uuid(8)] })
    expectExit(await webhooks('create', url, '--site', 'Forum'), 5, 'no site is named "Forum"')
  })

  it('prints the secret once, on standard output', async () => {
    creating()
    const { stdout, stderr } = await webhooks('create', url, '--json')
    expect(JSON.parse(stdout)).toEqual(newWebhookOf())
    expect(stderr).toMatch(new RegExp(`^created webhook ${id} on `))
    expect(stderr).not.toContain(webhookSecret)
  })

  it.each([
    [['-q'], '-q and -o id would lose the secret'],
    [['--json=id,url'], '--json would lose the secret'],
    [['--type', 'changed'], '--type must be created, imported,'],
    [['--type', 'erased', '--type', 'erased'], '--type must not name a type twice'],
  ])('rejects before it sends anything: %j', async (flags, message) => {
    expectUnsent(cli, await webhooks('create', url, ...flags), message)
  })

  it('with --dry-run, prints the request', async () => {
    const printed = jsonOf(await webhooks('create', url, '--site', uuid(7), '--dry-run', '--json'), 0, '')
    expect(printed).toMatchObject({ method: 'POST', body: { url, site_ids: [uuid(7)] } })
    expect(cli.sent()).toEqual([])
  })

  it('when the response is lost, says that the first secret is, too', async () => {
    cli.instance.use(answers('post', webhooksPath, { error: 'internal_error', message: 'failed' }, 500))
    const { code, stderr } = await webhooks('create', url)
    expect([code, stderr]).toEqual([11, expect.stringContaining('rotate its secret: the first one is lost')])
  })
})

describe('webhooks update', () => {
  it.each([
    [['--url', 'https://other.example/'], { url: 'https://other.example/' }],
    [['--type', 'erased', '--all-sites'], { types: ['erased'], site_ids: null }],
    [['--all-types', '--site', uuid(7)], { types: null, site_ids: [uuid(7)] }],
    [['--pause'], { paused: true }],
    [['--resume'], { paused: false }],
  ])('sends only what changes: %j', async (flags, body) => {
    cli.instance.use(answers('patch', webhookPath, webhookOf()))
    expect(await webhooks('update', id, ...flags)).toMatchObject({ code: 0 })
    expect(onlySent()).toEqual([`PATCH /api/v1/webhooks/${id}`, body])
  })

  it.each([
    [[], 'nothing to change'],
    [['--type', 'erased', '--all-types'], 'cannot be combined'],
    [['--site', uuid(7), '--all-sites'], 'cannot be combined'],
    [['--pause', '--resume'], 'cannot be combined'],
  ])('rejects what contradicts itself: %j', async (flags, message) => {
    expectUnsent(cli, await webhooks('update', id, ...flags), message)
  })
})

describe('webhooks rotate-secret', () => {
  it('prints the new secret once, and sends the overlap only if it is given', async () => {
    cli.instance.use(answers('post', `${webhookPath}/secret`, newWebhookOf(), 201))
    const { code, stdout, stderr } = await webhooks('rotate-secret', id, '--header')
    expect(code).toBe(0)
    expect(stdout.split(webhookSecret)).toHaveLength(2)
    expect(stderr).not.toContain(webhookSecret)
    expect(onlySent()).toEqual([`POST /api/v1/webhooks/${id}/secret`, {}])
    await webhooks('rotate-secret', id, '--overlap', '0')
    expect(cli.sent().at(-1)?.body).toEqual({ overlap_hours: 0 })
    expectExit(await webhooks('rotate-secret', id, '--overlap', '169'), 2, '--overlap must be from 0 to 168')
  })
})

describe('webhooks test', () => {
  const testing = (fields: object) =>
    cli.instance.use(answers('post', `${webhookPath}/test`, attemptOf({ position: null, ...fields })))

  it('when it was delivered, exits with 0 and prints status and milliseconds', async () => {
    testing({})
    const printed = jsonOf(await webhooks('test', id, '--json'), 0, '')
    expect(printed).toMatchObject({ status: 200, ms: 34, problem: null })
    expect(onlySent()).toEqual([`POST /api/v1/webhooks/${id}/test`, undefined])
  })

  it.each([
    ['answered 500', 500],
    ['no answer (ECONNREFUSED)', null],
  ])('when it was not, exits with 8 and says why: %s', async (problem, status) => {
    testing({ problem, status })
    const ran = await webhooks('test', id, '--json')
    expectExit(ran, 8, { code: 'not_delivered', message: `the test was not delivered: ${problem}`, exit: 8 })
    expect(JSON.parse(ran.stdout)).toMatchObject({ status, problem })
  })
})

describe('webhooks rewind', () => {
  const rewinding = () =>
    cli.instance.use(answers('post', `${webhookPath}/rewind`, webhookOf()), answers('get', webhookPath, webhookOf()))

  it.each([
    ['1041', { after: 1041 }],
    ['0', { after: 0 }],
    ['start', { after: null }],
    ['2026-01-31', { from: '2026-01-31T00:00:00.000Z' }],
    ['2026-01-31T09:30:00+02:00', { from: '2026-01-31T09:30:00+02:00' }],
  ])('begins at a position, a time or the start: %s', async (to, body) => {
    rewinding()
    expect(await webhooks('rewind', id, '--to', to, '--yes')).toMatchObject({ code: 0 })
    expect(onlySent()).toEqual([`POST /api/v1/webhooks/${id}/rewind`, body])
  })

  it('takes an age', async () => {
    rewinding()
    await webhooks('rewind', id, '--to', '7d', '--yes')
    const [{ from }] = cli.sent().map(({ body }) => body) as [{ from: string }]
    const ageMs = Date.now() - Date.parse(from)
    expect(Math.abs(ageMs - 7 * 86_400_000)).toBeLessThan(60_000)
  })

  it('asks first, and says what is sent again', async () => {
    rewinding()
    const { code, stderr } = await cli.run(['webhooks', 'rewind', id, '--to', '1041'], yesNo('n\n'))
    expect(code).toBe(9)
    expect(stderr).toContain('Events behind position 1041 are sent again; what is undelivered before is given up.')
    expect(stderr).toMatch(/Rewind this webhook on default@[\d.:]+\? \[y\/N\]/)
    expect(cli.sent().map(({ method }) => method)).toEqual(['GET'])
    expect(await cli.run(['webhooks', 'rewind', id, '--to', '1041'], yesNo('y\n'))).toMatchObject({ code: 0 })
    expect(cli.sent().at(-1)).toMatchObject({ method: 'POST', body: { after: 1041 } })
  })

  it.each([
    [[], "required option '--to <place>' not specified"],
    [['--to', 'yesterday', '--yes'], 'invalid time "yesterday"'],
    [['--to', '-1', '--yes'], 'invalid time "-1"'],
    [['--to', '1041'], 'cannot prompt'],
  ])('rejects before it sends anything: %j', async (flags, message) => {
    expectUnsent(cli, await webhooks('rewind', id, ...flags), message)
  })
})

describe('webhooks rm', () => {
  it('shows the webhook and asks', async () => {
    cli.instance.use(answers('get', webhookPath, webhookOf()), answers('delete', webhookPath, webhookOf()))
    const declined = await cli.run(['webhooks', 'rm', id], yesNo('\n'))
    expectNoStdout(declined, 9, url, 'Remove this webhook on ')
    expect(cli.sent().map(({ method }) => method)).toEqual(['GET'])
    expect(await cli.run(['webhooks', 'rm', id], yesNo('y\n'))).toMatchObject({ code: 0 })
    expect(cli.sent().at(-1)).toMatchObject({ method: 'DELETE', path: `/api/v1/webhooks/${id}` })
  })

  it('with --yes, removes it at once; without a terminal and --yes, sends nothing', async () => {
    expectUnsent(cli, await webhooks('rm', id), 'cannot prompt')
    cli.instance.use(answers('delete', webhookPath, webhookOf()))
    expect(await webhooks('rm', id, '--yes', '-q')).toEqual({ code: 0, stdout: `${id}\n`, stderr: '' })
    expect(onlySent()).toEqual([`DELETE /api/v1/webhooks/${id}`, undefined])
  })
})
