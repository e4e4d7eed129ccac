import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runBinary, useFolder } from '../support/cli.ts'

const folder = useFolder()
const env = () => ({ HOME: folder.path })
const usual = () => join(folder.path, '.local', 'share', 'consentctl')

const password = ['admin', 'user', 'password', '--email']
const account = ['admin', 'account', 'create', '--json', '--email']

describe('admin › without --database-url', () => {
  it('when a password is reset and the database does not exist, does not create one', async () => {
    const { code, stdout, stderr } = await runBinary([...password, 'a@example.com'], { env: env() })
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toContain(`no database in ${usual()}`)
    expect(stderr).toContain('--data-dir')
    expect(existsSync(usual())).toBe(false)
  })

  it('when an account is created, names the database, and says that it is new', async () => {
    const { code, stderr } = await runBinary([...account, 'a@example.com'], { env: env() })
    expect(code).toBe(0)
    expect(stderr).toContain(`working on a new embedded database in ${usual()}`)
  })

  it('exits with conflict when the account exists, and with not found when the user does not', async () => {
    const twice = await runBinary([...account, 'a@example.com'], { env: env() })
    expect(twice).toMatchObject({ code: 5, stdout: '' })
    expect(twice.stderr).toContain('"code":"conflict"')
    expect(await runBinary([...password, 'b@example.com'], { env: env() })).toMatchObject({
      code: 3,
      stdout: '',
    })
  })
})

it('admin › when PostgreSQL does not respond, exits with a temporary error that says what to check', async () => {
  const url = 'postgres://u:secret-of-mine@127.0.0.1:1/consentctl'
  const { code, stderr } = await runBinary([...account, 'a@example.com', '--database-url', url], {
    env: env(),
  })
  expect(code).toBe(7)
  expect(stderr).toContain('check that PostgreSQL runs')
  expect(stderr).not.toContain('secret-of-mine')
})

it('admin › when the embedded database does not respond, exits with a temporary error without a URL', async () => {
  const data = join(folder.path, 'held')
  mkdirSync(data)
  const busy = createServer(() => {}).listen(join(data, '.s.PGSQL.5432'))
  await once(busy, 'listening')
  const { code, stderr } = await runBinary([...account, 'a@example.com', '--data-dir', data], { env: env() })
  busy.close()
  expect(code, stderr).toBe(7)
  expect(stderr).toContain('CONNECT_TIMEOUT')
  expect(stderr).toContain('psql with an open transaction')
  expect(stderr).not.toContain('URL')
})

it('admin › when the data folder cannot be created, exits immediately with an error', async () => {
  const started = Date.now()
  const { code, stderr } = await runBinary(['serve', '--data-dir', '/proc/x/y'], { env: env() })
  expect(code).toBe(2)
  expect(stderr).toContain('/proc/x/y cannot be made')
  expect(Date.now() - started).toBeLessThan(10_000)
})
