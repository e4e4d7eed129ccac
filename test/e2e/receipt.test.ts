import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runBinary, useFolder } from '../support/cli.ts'
import { pathWithConsentctl, readCommands, runScript, someByteChanges } from '../support/documented-commands.ts'
import { createAccount, startServer } from '../support/server.ts'
import { databaseFor } from './campaign.ts'

const folder = useFolder()

it('verify › accepts a consent receipt with its service, and offline with stored keys', async () => {
  const { server, newClient } = await serve('consent')
  const env = await newClient()
  const [receipt, keys] = ['receipt.json', 'keys.json'].map(name => join(folder.path, name)) as [string, string]
  const created = await runBinary(['create', '--subject', 'maría', '--accepted', '-q'], { env })
  const id = created.stdout.trim()

  expect(await runBinary(['receipt', id, '--out', receipt], { env })).toMatchObject({ code: 0, stdout: '' })
  expect(await runBinary(['verify', receipt], { env: { ...env, CONSENTCTL_API_KEY: '' } })).toMatchObject({
    code: 0,
    stderr: '',
  })
  const published = await fetch(`${server.url}/.well-known/consent-keys.json`)
  writeFileSync(keys, await published.text())
  expect(await server.end('SIGTERM')).toBe(0)

  const offline = { HOME: folder.path }
  const verify = () => runBinary(['verify', receipt, '--keys', keys, '--json'], { env: offline })
  const { code, stdout } = await verify()
  expect([code, JSON.parse(stdout).result]).toEqual([0, 'valid'])
  writeFileSync(receipt, readFileSync(receipt, 'utf8').replaceAll('ConsentGiven', 'ConsentRefused'))
  const changed = await verify()
  expect([changed.code, JSON.parse(changed.stdout).result]).toEqual([5, 'not_valid'])
})

it('an erasure receipt verifies with the documented commands, unless a byte of it is changed', async () => {
  const { server, newClient } = await serve('erasure')
  const env = await newClient()
  const path = pathWithConsentctl(folder.path)
  await runBinary(['create', '--subject', 'maría', '-q'], { env })
  const erase = ['subject', 'erase', 'maría', '--ticket', 'T “1”', '--confirm', '1']
  expect((await runBinary(erase, { env })).code).toBe(0)
  expect(await server.end('SIGTERM')).toBe(0)

  const commands = readCommands('erasure receipt')
  expect(await runScript(folder.path, commands, { ...env, PATH: path })).toEqual({
    code: 0,
    stdout: 'Signature Verified Successfully\n',
    stderr: '',
  })
  const checks = commands.split('\n').slice(2).join('\n')
  const file = join(folder.path, 'receipt.json')
  const receipt = readFileSync(file)
  for (const { at, byte } of someByteChanges(receipt).filter((_, index) => index % 4 === 0)) {
    const changed = Buffer.from(receipt)
    changed[at] = byte
    writeFileSync(file, changed)
    expect((await runScript(folder.path, checks)).code, `byte ${at} as ${byte}`).not.toBe(0)
  }
})

it('an erasure receipt says what is held, also with the quota used up', async () => {
  const erase = async (env: Record<string, string>, subject: string) => {
    const command = ['subject', 'erase', subject, '--ticket', 'T-1', '--yes', '-o', 'id']
    const { code, stdout, stderr } = await runBinary(command, { env })
    const receipt = await runBinary(['subject', 'receipts', 'last', '--format', 'json'], { env })
    const verified = await runBinary(['subject', 'verify', 'last'], { env })
    return { code, stdout, stderr, verified: verified.code, receipt: JSON.parse(receipt.stdout) }
  }
  const { server, newClient } = await serve('quota')
  const runs = []
  for (const quota of [null, '1']) {
    const env = await newClient(...(quota === null ? [] : ['--monthly-quota', quota]))
    const created = await runBinary(['create', '--subject', 'maría', '-q'], { env })
    expect((await runBinary(['list'], { env })).code).toBe(quota === null ? 0 : 6)
    const nobody = await erase(env, 'nobody@example.com')
    const maria = await erase(env, 'maría')
    runs.push({ id: created.stdout, nobody, maria, again: await erase(env, 'maría') })
  }
  expect(await server.end('SIGTERM')).toBe(0)
  expect(runs[1]?.nobody.stderr).toContain('the quota is used up')
  expect(runs[0]?.nobody.stderr).not.toContain('quota')
  for (const { id, nobody, maria, again } of runs) {
    expect(nobody).toMatchObject({ code: 0, stdout: '', verified: 0 })
    expect(nobody.stderr).toMatch(/^no data held on \S+ in the account \S+$/m)
    expect(nobody.stderr).not.toContain('erased')
    expect(nobody.receipt).toMatchObject({
      result: 'no_data_held',
      sites: [],
      records: [],
      verification: { live: 0, deleted: 0, remaining: [] },
    })
    expect(maria).toMatchObject({ code: 0, stdout: id, verified: 0 })
    expect(maria.receipt).toMatchObject({
      result: 'erased',
      counts: { deleted: 1, already_gone: 0, unknown: 0 },
      records: [{ id: id.trim(), result: 'deleted', deleted_at: expect.any(String) }],
      verification: { live: 0, deleted: 1 },
    })
    expect(again).toMatchObject({ code: 0, stdout: '', verified: 0 })
    expect(again.receipt).toMatchObject({ result: 'nothing_live', verification: { live: 0, deleted: 1 } })
  }
})

async function serve(name: string) {
  const home = { HOME: folder.path }
  const surroundings = { ...home, ...(await databaseFor(`receipt_${name}`, folder.path)) }
  const server = await startServer(['--port', '0'], surroundings)
  let accounts = 0
  /** Returns the environment of a client of a new account. */
  const newClient = async (...options: string[]) => {
    accounts += 1
    const { api_key, site } = await createAccount(['--email', `${accounts}@example.com`, ...options], surroundings)
    return { ...home, CONSENTCTL_BASE_URL: server.url, CONSENTCTL_API_KEY: api_key, CONSENTCTL_SITE: site.id }
  }
  return { server, newClient }
}
