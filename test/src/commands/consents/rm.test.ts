import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { byId, expectUnsent, useCli } from '../../support.ts'

const cli = useCli()

describe('rm › without --yes and without a terminal to prompt on', () => {
  it.each([
    ['no stream is a terminal', {}],
    ['stdin is not a terminal', { stdout: true, stderr: true }],
    ['stderr is not a terminal', { stdin: true, stdout: true }],
  ])('exits with 2 before any request: %s', async (_, tty) => {
    expectUnsent(cli, await cli.run(['rm', '7'], { tty }), '--yes')
  })

  it('rejects ids from standard input, which cannot be used for the prompt', async () => {
    const tty = { stdin: true, stdout: true, stderr: true }
    expectUnsent(cli, await cli.run(['rm', '-'], { tty, stdin: 'a\n' }))
  })
})

describe('rm --yes', () => {
  it('when the list of ids is empty, succeeds without a request', async () => {
    expect(await cli.run(['rm', '-', '--yes', '-q'], { stdin: '' })).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    })
  })
})

describe('other instances respond to a deletion in their own way', () => {
  it('sends no body, which they may reject', async () => {
    cli.instance.use(http.delete(byId, () => new HttpResponse(null, { status: 204 })))
    await cli.run(['rm', '7', '--yes'])
    expect(cli.instance.requests).toMatchObject([{ method: 'DELETE', text: '' }])
  })

  it.each([
    ['204 without a body', () => new HttpResponse(null, { status: 204 })],
    ['200 without a body', () => new HttpResponse(null, { status: 200 })],
    ['202 without a body', () => new HttpResponse(null, { status: 202 })],
    ['a note', () => HttpResponse.json({ message: 'deleted' })],
    ['an empty object', () => HttpResponse.json({})],
    ['null', () => HttpResponse.json(null)],
    ['the id alone', () => HttpResponse.json({ id: '7', deleted_at: '2026-02-01' })],
  ])('accepts %s and adds no fields', async (_, resolver) => {
    cli.instance.use(http.delete(byId, resolver))
    const { code, stdout, stderr } = await cli.run(['rm', '7', '--yes', '-o', 'json'])
    expect(stderr).not.toContain('error')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ id: '7' })
    expect(JSON.parse(stdout)).not.toHaveProperty('accepted')
  })
})
