import type { KeyObject } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { keyIdOf, newSigningKey, privatePem } from '../../src/evidence/keys.ts'
import { runBinary } from '../support/cli.ts'
import { useServed } from './served.ts'

const served = useServed('verify', { env: { LOG_LEVEL: 'info' } })
const file = () => join(served.folder.path, 'checkpoints.txt')

const admin = (...args: string[]) => runBinary(['admin', ...args, '--json'], { env: served.service })
const user = served.run
const newRecord = async () => JSON.parse((await user('create', '--subject', 'maria', '--json')).stdout).id as string

describe('admin verify › beside a running server', () => {
  let id: string
  it('accepts a history and the database, and keeps a checkpoint', async () => {
    id = await newRecord()
    await user('update', id, '--accepted')
    expect(await user('history', id, '--verify', '-o', 'tsv')).toMatchObject({
      code: 0,
      stdout: `${id}\t2\tok\t\tconsistent in itself\n`,
    })
    const taken = await admin('checkpoint', '--file', file())
    expect(taken.code).toBe(0)
    expect(JSON.parse(taken.stdout)).toMatchObject([
      { account_id: served.account.account_id, tree_size: 3, result: 'kept' },
    ])
    expect(statSync(file()).mode & 0o777).toBe(0o600)
    expect(await admin('verify', '--checkpoint', file())).toMatchObject({ code: 0, stdout: '[]\n' })
    expect(await user('history', id, '--verify', '--checkpoint', file(), '-o', 'tsv')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(`${id}\t2\tok\t\tunder the checkpoint of 20`),
    })
  })

  it('when a superuser changed a record, reports it, exits with 5, and leaves the checkpoint file unchanged', async () => {
    await newRecord()
    expect(await admin('checkpoint', '--file', file())).toMatchObject({ code: 0 })
    const before = readFileSync(file(), 'utf8')
    const { DATABASE_URL: url, CONSENTCTL_DATA_DIR: place = '' } = served.service
    const sql = connect({ target: url === undefined ? { folder: place } : { url }, max: 1 })
    await sql`update consents set subject_id = 'somebody' where id = ${id}`
    await sql`update log_entries set hash = sha256('x') where consent_id = ${id} and version = 1`
    const { code, stdout, stderr } = await admin('verify')
    expect(code).toBe(5)
    expect(stderr).toContain('"code":"not_valid"')
    expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ consent_id: id, problem: 'changed' }))
    await newRecord()
    expect(await admin('checkpoint', '--file', file())).toMatchObject({ code: 5 })
    expect(await sql`select tree_size::float8 as size from checkpoints order by 1`).toEqual([{ size: 3 }, { size: 4 }])
    await sql.end()
    expect(readFileSync(file(), 'utf8')).toBe(before)
    expect(await user('history', id, '--verify')).toMatchObject({ code: 0 }) // its own state was not touched
  })
})

it('serve › when it stops, signs a checkpoint of new entries', async () => {
  await newRecord()
  expect(await served.server.end('SIGTERM')).toBe(0)
  expect(served.server.output()).toMatch(/"entries":2,"checkpoints":1,"msg":"checkpoints"/)
})

describe('admin signing-key', () => {
  const pem = (name: string, ...keys: KeyObject[]) => {
    const path = join(served.folder.path, name)
    writeFileSync(path, keys.map(privatePem).join(''))
    return path
  }
  const run = async (keyFile: string, ...args: string[]) => {
    const all = ['--json', 'admin', ...args]
    const { code, stdout, stderr } = await runBinary(all, { env: { ...served.service, SIGNING_KEY_FILE: keyFile } })
    return { code, stderr, rows: stdout === '' ? [] : JSON.parse(stdout) }
  }
  const [own, lost, next] = [newSigningKey(), newSigningKey(), newSigningKey()]
  const stateOf = (rows: { key_id: string; state: string }[], key: KeyObject) =>
    rows.find(({ key_id }) => key_id === keyIdOf(key))?.state

  it('revoke › retires a superseded key, which no longer signs anything', async () => {
    const revoke = (keyFile: string) =>
      run(keyFile, 'signing-key', 'revoke', '--reason', 'superseded', '--yes', '--', keyIdOf(own))
    expect(await revoke(pem('own.pem', own))).toMatchObject({ code: 3 }) // by itself
    const { code, rows } = await revoke(pem('lost.pem', lost, own))
    expect([code, rows.length, stateOf(rows, lost), stateOf(rows, own)]).toEqual([0, 3, 'valid', 'superseded'])
    const refused = await run(pem('own.pem', own), 'checkpoint', '--file', join(served.folder.path, 'x'))
    expect(refused.stderr).toContain(`the signing key ${keyIdOf(own)} was revoked at`)
  })

  it('restart › lets a new key follow when the newest one is lost, and keeps the others', async () => {
    const refused = await run(pem('next.pem', next), 'checkpoint', '--file', join(served.folder.path, 'x'))
    expect(refused.stderr).toContain('admin signing-key restart')
    expect(refused.code).not.toBe(0)
    const restart = (...args: string[]) => run(pem('next.pem', next), 'signing-key', 'restart', ...args)
    expect(await restart('--', keyIdOf(lost))).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    const unknown = await restart('--yes', '--', 'unknown')
    expect([unknown.code, unknown.stderr]).toEqual([3, expect.stringContaining('the log of keys has no key unknown')])
    const { code, rows, stderr: said } = await restart('--yes', '--', keyIdOf(lost))
    expect([code, rows.length, rows[0].key_id]).toEqual([0, 4, keyIdOf(next)])
    expect(said).toContain(`the key ${keyIdOf(next)} follows the lost key ${keyIdOf(lost)}`)
    const again = await restart('--yes', '--', keyIdOf(lost))
    expect([again.code, again.stderr]).toEqual([5, expect.stringContaining('already in the log of keys')])
    const { rows: findings } = await run(pem('next.pem', next), 'verify')
    expect(findings.filter(({ account_id }: { account_id: string | null }) => account_id === null)).toEqual([])
  })
})
