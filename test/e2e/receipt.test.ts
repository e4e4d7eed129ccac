import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runBinary } from '../support/cli.ts'
import { pathWithConsentctl, readCommands, runScript, someByteChanges } from '../support/documented-commands.ts'
import { useServed } from './served.ts'

const served = useServed('receipt')

it('verify › accepts a consent receipt with its service, and offline with stored keys', async () => {
  const { client: env, folder } = served
  const [receipt, keys] = ['receipt.json', 'keys.json'].map(name => join(folder.path, name)) as [string, string]
  const created = await runBinary(['create', '--subject', 'maría', '--accepted', '-q'], { env })
  const id = created.stdout.trim()

  expect(await runBinary(['receipt', id, '--out', receipt], { env })).toMatchObject({ code: 0, stdout: '' })
  expect(await runBinary(['verify', receipt], { env: { ...env, CONSENTCTL_API_KEY: '' } })).toMatchObject({
    code: 0,
    stderr: '',
  })
  const published = await fetch(`${served.url}/.well-known/consent-keys.json`)
  writeFileSync(keys, await published.text())

  const offline = { HOME: folder.path }
  const verify = () => runBinary(['verify', receipt, '--keys', keys, '--json'], { env: offline })
  const { code, stdout } = await verify()
  expect([code, JSON.parse(stdout).result]).toEqual([0, 'valid'])
  writeFileSync(receipt, readFileSync(receipt, 'utf8').replaceAll('ConsentGiven', 'ConsentRefused'))
  const changed = await verify()
  expect([changed.code, JSON.parse(changed.stdout).result]).toEqual([5, 'not_valid'])
})

it('an erasure receipt verifies with the documented commands, unless a byte of it is changed', async () => {
  const { client: env, folder, run } = served
  const path = pathWithConsentctl(folder.path)
  await run('create', '--subject', 'ana', '-q')
  expect((await run('subject', 'erase', 'ana', '--ticket', 'T “1”', '--confirm', '1')).code).toBe(0)

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
