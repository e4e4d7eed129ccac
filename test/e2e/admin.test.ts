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

describe('where no database is named', () => {
  it('a new password makes none: there is another one, for which it was meant', async () => {
    const { code, stdout, stderr } = await runBinary([...password, 'a@example.com'], { env: env() })
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toContain(`no database in ${usual()}`)
    expect(stderr).toContain('--data-dir')
    expect(existsSync(usual())).toBe(false)
  })

  it('an account says which one it is made in, and that it is new', async () => {
    const { code, stderr } = await runBinary([...account, 'a@example.com'], { env: env() })
    expect(code).toBe(0)
    expect(stderr).toContain(`working on a new embedded database in ${usual()}`)
  })

  it('what is there already is a conflict, and what is not there is not found', async () => {
    const twice = await runBinary([...account, 'a@example.com'], { env: env() })
    expect(twice).toMatchObject({ code: 5, stdout: '' })
    expect(twice.stderr).toContain('"code":"conflict"')
    expect(await runBinary([...password, 'b@example.com'], { env: env() })).toMatchObject({
      code: 3,
      stdout: '',
    })
  })
})

it('a PostgreSQL that does not answer is temporary, and says what to check', async () => {
  const url = 'postgres://u:secret-of-mine@127.0.0.1:1/consentctl'
  const { code, stderr } = await runBinary([...account, 'a@example.com', '--database-url', url], {
    env: env(),
  })
  expect(code).toBe(7)
  expect(stderr).toContain('check that PostgreSQL runs')
  expect(stderr).not.toContain('secret-of-mine')
})

it('an embedded database that does not answer is temporary, and has no URL to check', async () => {
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

it('a folder that no file system would make is an error, not a wait for ever', async () => {
  const started = Date.now()
  const { code, stderr } = await runBinary(['serve', '--data-dir', '/proc/x/y'], { env: env() })
  expect(code).toBe(2)
  expect(stderr).toContain('/proc/x/y cannot be made')
  expect(Date.now() - started).toBeLessThan(10_000)
})
