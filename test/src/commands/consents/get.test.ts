import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { answers, byId, consent, expectExit, fails, screen, useCli, uuid } from '../../support.ts'

const cli = useCli()

/** Holds every record but those whose ids begin with "missing". */
function holding() {
  cli.instance.use(
    http.get(byId, ({ params: { id } }) =>
      String(id).startsWith('missing') ? fails(404, 'not_found') : HttpResponse.json(consent({ id: String(id) })),
    ),
  )
}

describe('one id', () => {
  it('sends include_deleted only with --include-deleted', async () => {
    holding()
    await cli.run(['get', '7', '--include-deleted'])
    await cli.run(['get', '7'])
    expect(cli.sent().map(({ query }) => query)).toEqual([{ include_deleted: 'true' }, {}])
  })

  it('when it does not exist, the error names it', async () => {
    holding()
    const { stderr } = await cli.run(['get', 'missing-7'])
    expect(stderr).toMatch(/^error: .*missing-7.*\(not_found\)$/m)
    expect(stderr).toContain('try: missing-7 is not a UUID, as the ids of records are')
  })
})

describe('an imported record', () => {
  const origin = { system: 'acme', id: '47\u202e11', evidence: 'https://acme.example/4711' }
  const imported = consent({ given_at: '2020-05-01T10:00:00.000Z', origin, gpc: true })

  it('prints a line for each field that its importer reported', async () => {
    cli.instance.use(answers('get', byId, imported))
    const { stdout } = await cli.run(['get', uuid(7), '--color', 'never'], screen)
    expect(stdout.split('\n').slice(-6, -1)).toEqual([
      expect.stringMatching(/^GIVEN_AT +2020-05-01T10:00:00.000Z$/),
      expect.stringMatching(/^ORIGIN.SYSTEM +acme$/),
      expect.stringMatching(/^ORIGIN.ID +47\\u\{202e\}11$/),
      expect.stringMatching(/^ORIGIN.EVIDENCE +https:\/\/acme.example\/4711$/),
      expect.stringMatching(/^GPC +true$/),
    ])
  })

  it('is complete in JSON, and has the same columns as other records in TSV and CSV unless more are requested', async () => {
    cli.instance.use(answers('get', byId, imported))
    const get = async (...flags: string[]) => (await cli.run(['get', uuid(7), ...flags])).stdout
    expect(JSON.parse(await get('--json'))).toEqual(imported)
    expect((await get('-o', 'tsv')).split('\t')).toHaveLength(13)
    expect(await get('-o', 'csv')).not.toContain('origin')
    expect(await get('-o', 'tsv', '--columns', 'given_at,origin.system')).toBe('2020-05-01T10:00:00.000Z\tacme\n')
    expect(JSON.parse(await get('--json=origin'))).toEqual({ origin })
  })
})

describe('ids of any text', () => {
  it.each([
    ['a b', 'a%20b'],
    ['a/b?c#d', 'a%2Fb%3Fc%23d'],
    ['100%', '100%25'],
    ['%2e%2e', '%252e%252e'],
    ['é同', '%C3%A9%E5%90%8C'],
    ['...', '...'],
    ['../x', '..%2Fx'],
    ['a\\b', 'a%5Cb'],
    ['a\tb', 'a%09b'],
  ])('sends %j percent-encoded', async (id, path) => {
    cli.instance.use(answers('get', '*', consent({ id })))
    const { code, stdout } = await cli.run(['get', id, '-o', 'json'])
    expect(code).toBe(0)
    expect(cli.instance.requests[0]?.url).toBe(`/api/v1/consents/${path}`)
    expect(JSON.parse(stdout).id).toBe(id)
  })

  it.each(['a\\b', 'a b', 'é同', 'a\tb', 'a\\tb', '-7'])('get - reads the output of -q: %j', async id => {
    cli.instance.use(answers('get', '*', consent({ id })))
    const { stdout } = await cli.run(['get', '-q', '--', id])
    await cli.run(['get', '-'], { stdin: stdout })
    const [first, second] = cli.sent()
    expect(second).toEqual(first)
  })

  it('rejects standard input that is not UTF-8 with its line number, before any request', async () => {
    const stdin = Buffer.from([0x61, 0x0a, 0xff, 0x0a])
    expectExit(await cli.run(['get', '-'], { stdin }), 5, 'line 2 is not valid UTF-8')
    expect(cli.sent()).toEqual([])
  })
})
