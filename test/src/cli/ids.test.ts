import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { byId, consent, entry, expectExit, expectUnsent, fails, useCli } from '../support.ts'

const cli = useCli()

/** Commands that take several ids, with their routes. */
const commands = [
  ['get', http.get, byId, []],
  ['history', http.get, `${byId}/history`, []],
  ['rm', http.delete, byId, ['--yes']],
] as const

describe.each(commands)('%s with several ids', (name, method, path, flags) => {
  const run = (ids: string[], stdin = '') => cli.run([name, ...ids, ...flags, '-q'], { stdin })
  const sent = () => cli.sent().map(each => each.path.split('/')[4])

  /** Holds every record but those that begin with "missing"; its key is revoked for "revoked", its quota used up for "over". */
  const holding = () =>
    cli.instance.use(
      method(path, ({ params }) => {
        const id = String(params['id'])
        if (id.startsWith('missing')) return fails(404, 'not_found')
        if (id === 'revoked') return fails(401, 'unauthorized')
        if (id === 'over') return fails(429, 'quota_exceeded')
        return HttpResponse.json(name === 'history' ? { data: [entry({ id })] } : consent({ id }))
      }),
    )

  it('when ids are repeated, uses each once, in order', async () => {
    holding()
    expect(await run(['b', 'a', 'b', 'c'])).toEqual({ code: 0, stdout: 'b\na\nc\n', stderr: '' })
    expect(sent()).toEqual(['b', 'a', 'c'])
  })

  it('with -, reads ids from standard input with CRLF, blank lines or no final newline, besides other ids', async () => {
    holding()
    expect(await run(['z', '-'], '\ufeffa\r\n\r\n  b \n\nc')).toMatchObject({ code: 0, stdout: 'z\na\nb\nc\n' })
  })

  it('when some are missing, exits with 8, names each, and processes the others', async () => {
    holding()
    const { code, stdout, stderr } = await run(['a', 'missing-1', 'b', 'missing-2'])
    expect({ code, stdout }).toEqual({ code: 8, stdout: 'a\nb\n' })
    expect(stderr.match(/^error: .*missing-\d/gm)).toHaveLength(2)
  })

  it('when all are missing, exits with 3', async () => {
    holding()
    expect(await run(['missing-1', 'missing-2'])).toMatchObject({ code: 3, stdout: '' })
    expect(sent()).toHaveLength(2)
  })

  it.each([
    ['revoked', 4],
    ['over', 6],
  ])('stops at an error that would recur for all others: %s', async (id, exit) => {
    holding()
    expect(await run([id, 'a', 'b'])).toMatchObject({ code: exit, stdout: '' })
    expect(sent()).toHaveLength(1)
  })

  it('when such an error occurs in the middle, stops and exits with 8', async () => {
    holding()
    const ran = await run(['a', 'revoked', 'b'])
    expectExit(ran, 8, 'CONSENTCTL_API_KEY')
    expect([ran.stdout, sent()]).toEqual(['a\n', ['a', 'revoked']])
  })

  it.each(['', '.', '..'])('rejects the id %j before any request', async id => {
    expectUnsent(cli, await run(['a', id]))
  })

  it.each(['.', '..', '   '])('never requests another path for the line %j of standard input', async line => {
    holding()
    await run(['-'], `a\n${line}\nb\n`)
    for (const id of sent()) expect(['a', 'b']).toContain(id)
  })
})
