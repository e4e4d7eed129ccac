import { describe, expect, it } from 'vitest'
import { answers, expectNoStdout, machineError, useCli } from '../support.ts'

const cli = useCli()

const change = ['DSR-7', '--reason', 'many systems'] as const

describe('requests, with an instance that has only the routes of the specification', () => {
  it.each([
    ['list'],
    ['next'],
    ['show', 'DSR-7'],
    ['add', 'DSR-7', 'maria@example.com', '--kind', 'erasure'],
    ['update', 'DSR-7', '--assignee', 'privacy team'],
    ['extend', ...change],
    ['close', 'DSR-7', '--outcome', 'done', '--yes'],
    ['report'],
  ])('%s says that it has no register', async (...args) => {
    const notFound = { error: 'not_found', message: 'There is no such route.' }
    cli.instance.use(...(['get', 'post'] as const).map(method => answers(method, '*', notFound, 404)))
    const ran = await cli.run(['requests', ...args], { env: { CONSENTCTL_ERROR_FORMAT: 'json' } })
    expectNoStdout(ran, 2, { code: 'not_offered', exit: 2 })
  })
})

describe('subject, with an instance that has only the routes of the specification', () => {
  it.each([
    ['find', '--request', 'DSR-7'],
    ['export', '--request', 'DSR-7', '--out', '/nowhere/maria.json'],
    ['erase', '--request', 'DSR-7', '--yes'],
  ])('%s --request says that it has no register', async (...args) => {
    cli.instance.use(answers('get', '*', { error: 'not_found', message: 'There is no such route.' }, 404))
    const { code, stderr } = await cli.run(['subject', ...args], { env: { CONSENTCTL_ERROR_FORMAT: 'json' } })
    expect([code, machineError(stderr)['code']]).toEqual([2, 'not_offered'])
  })
})
