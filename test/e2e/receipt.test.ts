import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runBinary, useFolder } from '../support/cli.ts'
import { createAccount, startServer } from '../support/server.ts'

const folder = useFolder()

it('a receipt is verified beside its service, and without it by keys that were kept', async () => {
  const data = ['--data-dir', join(folder.path, 'data')]
  const server = await startServer(['--port', '0', ...data], { HOME: folder.path })
  const { api_key, site } = await createAccount(['--email', 'a@example.com', ...data], { HOME: folder.path })
  const env = { HOME: folder.path, CONSENTCTL_BASE_URL: server.url, CONSENTCTL_API_KEY: api_key }
  const [receipt, keys] = ['receipt.json', 'keys.json'].map(name => join(folder.path, name)) as [
    string,
    string,
  ]
  const created = await runBinary(['create', '--site', site.id, '--subject', 'maría', '--accepted', '-q'], {
    env,
  })
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
