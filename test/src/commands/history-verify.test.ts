import { HttpResponse, http } from 'msw'
import { expect, it } from 'vitest'
import { historyOf, id } from '../evidence/chains.ts'
import { answers, byId, entry, fails, machineError, useCli } from '../support.ts'

const cli = useCli()
const path = `${byId}/history`
const good = historyOf('created', 'updated', 'deleted')

it('says that a history verifies, with its number of entries', async () => {
  cli.instance.use(answers('get', path, { data: good }))
  const { code, stdout, stderr } = await cli.run(['history', id.toUpperCase(), '--verify', '--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual([{ id: id.toUpperCase(), entries: 3, result: 'ok', detail: null }])
})

it('ends with 5 where one of several does not, and -q prints which', async () => {
  const forged = good.map(each => ({ ...each, accepted: true }))
  const other = id.replace(/.$/, '2')
  cli.instance.use(http.get(path, ({ params }) => HttpResponse.json({ data: params['id'] === id ? good : forged })))
  const { code, stdout, stderr } = await cli.run(['history', id, other, '--verify', '-q'], {
    env: { CONSENTCTL_ERROR_FORMAT: 'json' },
  })
  expect({ code, stdout }).toEqual({ code: 5, stdout: `${other}\n` })
  expect(machineError(stderr)).toMatchObject({
    code: 'not_valid',
    exit: 5,
    message: '1 of 2 histories does not verify',
  })
})

it('of an instance with the specification’s fields alone says that it offers no chain, and ends with 5', async () => {
  cli.instance.use(answers('get', path, { data: [entry(), entry()] }))
  const { code, stdout } = await cli.run(['history', '7', '--verify', '-o', 'ndjson'])
  expect(code).toBe(5)
  expect(JSON.parse(stdout)).toMatchObject({
    result: 'unverifiable',
    detail: expect.stringContaining('no chain'),
  })
})

it('of a record that is not there ends with 3, and 8 where another one verifies', async () => {
  cli.instance.use(
    http.get(path, ({ params }) => (params['id'] === id ? HttpResponse.json({ data: good }) : fails(404, 'not_found'))),
  )
  expect(await cli.run(['history', 'x', '--verify'])).toMatchObject({ code: 3, stdout: '' })
  expect(await cli.run(['history', id, 'x', '--verify'])).toMatchObject({ code: 8 })
})
