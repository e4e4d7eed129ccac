import { HttpResponse, http } from 'msw'
import { beforeEach, describe, expect, it } from 'vitest'
import { answers, byId, consent, expectExit, fails, useCli, uuid } from '../../support.ts'

const cli = useCli()
const path = `${byId}/restore`
const restored = consent({ id: uuid(7) })

describe('restore', () => {
  beforeEach(() => cli.instance.use(http.get(byId, () => fails(404, 'not_found'))))

  it('is retried after a lost response', async () => {
    let attempts = 0
    const handler = http.post(path, () => (attempts++ === 0 ? fails(503, 'unavailable') : HttpResponse.json(restored)))
    cli.instance.use(handler)
    expect(await cli.run(['restore', uuid(7), '-q'])).toMatchObject({ code: 0, stdout: `${uuid(7)}\n` })
    expect(attempts).toBe(2)
  })

  it('when the instance fails each time, exits with 7', async () => {
    cli.instance.use(http.post(path, () => fails(500, 'internal_error')))
    expect(await cli.run(['restore', uuid(7)])).toMatchObject({ code: 7, stdout: '' })
  })

  it('when the instance has only the six routes, exits with 2', async () => {
    const missing = answers('post', path, { error: 'not_found', message: 'There is no such route.' }, 404)
    cli.instance.use(missing, answers('get', '*/api/v1/openapi.json', { openapi: '3.1.1', paths: {} }))
    expectExit(await cli.run(['restore', uuid(7)]), 2, 'cannot restore records')
  })

  it('sends despite_erasure only with --despite-erasure', async () => {
    cli.instance.use(answers('post', path, restored))
    await cli.run(['restore', uuid(7)])
    await cli.run(['restore', uuid(7), '--despite-erasure'])
    const posted = cli.sent().filter(({ method }) => method === 'POST')
    expect(posted.map(({ body }) => body)).toEqual([{}, { despite_erasure: true }])
  })

  it('names the records that were not deleted, and accepts the header of an id column', async () => {
    const live = http.get(byId, ({ params: { id } }) =>
      id === uuid(8) ? HttpResponse.json(consent({ id: uuid(8) })) : fails(404, 'not_found'),
    )
    cli.instance.use(live, answers('post', path, restored))
    const { code, stdout, stderr } = await cli.run(['restore', '-', '-o', 'id'], {
      stdin: `id\r\n${uuid(7)}\r\n${uuid(8)}\r\n`,
    })
    expect([code, stdout]).toEqual([0, `${uuid(7)}\n${uuid(8)}\n`])
    expect(stderr).toContain('restored 1 record on ')
    expect(stderr).toContain(`not deleted, so nothing was restored: ${uuid(8)}`)
    expect(cli.sent().filter(({ method }) => method === 'POST')).toHaveLength(1)
  })
})
