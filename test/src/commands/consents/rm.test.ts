import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { answers, byId, consent, expectNoStdout, expectUnsent, fails, ndjson, useCli, uuid } from '../../support.ts'

const cli = useCli()

function holding() {
  cli.instance.use(
    http.delete(byId, ({ params: { id } }) => {
      if (String(id).startsWith('missing')) return fails(404, 'not_found')
      return HttpResponse.json(consent({ id: String(id), deleted_at: '2026-02-01T00:00:00.000Z' }))
    }),
  )
}

const deleted = () => cli.sent().map(({ method, path }) => `${method} ${path.split('/').at(-1)}`)

describe('rm › without --yes and without a terminal to prompt on', () => {
  it.each([
    ['no stream is a terminal', {}],
    ['stdin is none', { stdout: true, stderr: true }],
    ['stderr is none', { stdin: true, stdout: true }],
  ])('it ends with 2 before any request: %s', async (_, tty) => {
    expectUnsent(cli, await cli.run(['rm', '7'], { tty }), '--yes')
  })

  it('ids from standard input cannot be asked about either', async () => {
    const tty = { stdin: true, stdout: true, stderr: true }
    expectUnsent(cli, await cli.run(['rm', '-'], { tty, stdin: 'a\n' }))
  })
})

describe('with --yes', () => {
  it('deletes each id once, in order, and prints what the instance answered', async () => {
    holding()
    const { code, stdout, stderr } = await cli.run(['rm', 'b', 'a', 'b', '-y', '-o', 'ndjson'])
    expect(code).toBe(0)
    expect(deleted()).toEqual(['DELETE b', 'DELETE a'])
    const rows = ndjson(stdout)
    expect(rows).toEqual(['b', 'a'].map(id => consent({ id, deleted_at: '2026-02-01T00:00:00.000Z' })))
    expect(stderr).toContain(`default@${new URL(cli.instance.url).host}`)
  })

  it('sends no body', async () => {
    holding()
    await cli.run(['rm', uuid(7), '--yes'])
    expect(cli.instance.requests).toMatchObject([{ text: '', url: `/api/v1/consents/${uuid(7)}` }])
  })

  it('when the list of ids is empty, succeeds without a request', async () => {
    expect(await cli.run(['rm', '-', '--yes', '-q'], { stdin: '' })).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    })
  })
})

describe('other instances answer a deletion in their own way, for the specification does not say how', () => {
  it.each([
    ['204 without a body', () => new HttpResponse(null, { status: 204 })],
    ['200 without a body', () => new HttpResponse(null, { status: 200 })],
    ['202 without a body', () => new HttpResponse(null, { status: 202 })],
    ['a note', () => HttpResponse.json({ message: 'deleted' })],
    ['an empty object', () => HttpResponse.json({})],
    ['null', () => HttpResponse.json(null)],
    ['the id alone', () => HttpResponse.json({ id: '7', deleted_at: '2026-02-01' })],
  ])('%s is a success, and nothing is made up', async (_, resolver) => {
    cli.instance.use(http.delete(byId, resolver))
    const { code, stdout, stderr } = await cli.run(['rm', '7', '--yes', '-o', 'json'])
    expect(stderr).not.toContain('error')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ id: '7' })
    expect(JSON.parse(stdout)).not.toHaveProperty('accepted')
  })
})

describe('what cannot be deleted', () => {
  it('a sign-in page with 200 is no deletion', async () => {
    cli.instance.use(http.delete(byId, () => HttpResponse.html('<title>Sign in</title>')))
    const { code, stdout, stderr } = await cli.run(['rm', '7', '--yes'])
    expect(code).not.toBe(0)
    expect(stdout).toBe('')
    expect(stderr).not.toContain('deleted')
  })

  it('one that is missing ends with 3', async () => {
    holding()
    const ran = await cli.run(['rm', 'missing-1', '--yes', '-o', 'json'])
    expectNoStdout(ran, 3, { code: 'not_found', status: 404, exit: 3 })
  })

  it('a failure of the server is worth another try', async () => {
    cli.instance.use(answers('delete', byId, { error: 'internal_error', message: 'x' }, 500))
    expect(await cli.run(['rm', 'a', '--yes'])).toMatchObject({ code: 7, stdout: '' })
  })
})
