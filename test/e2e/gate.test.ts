import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { start } from '../support/cli.ts'
import { pathWithConsentctl, readCommands, runScript } from '../support/documented-commands.ts'
import { hasVerifier, runVerifier } from '../support/verifier.ts'
import { type HoldingProxy, startHoldingProxy } from './holding-proxy.ts'
import { useServed } from './served.ts'
import { useTinyDisk } from './tiny-disk.ts'

const served = useServed('gate', { env: { LOG_LEVEL: 'silent' } })
const people = 3000
const tiny = useTinyDisk()
let proxy: HoldingProxy
let work: string
const place = (name: string) => join(work, name)
const read = (name: string) => readFileSync(place(name), 'utf8')

const name = (index: number) => `person-${index}@example.com`
const isGiven = (index: number) => index % 3 === 0
const lines = Array.from({ length: people }, (_, index) => `${index};"${name(index)}"\r\n`)
const header = 'n;E-Mail\r\n'

beforeAll(async () => {
  work = join(served.folder.path, 'work')
  mkdirSync(work)
  writeFileSync(place('list.csv'), header + lines.join(''))
  const made = Array.from({ length: people }, (_, index) => index).filter(index => index % 10 > 0)
  const records = made.map(index => ({
    subject_id: name(index),
    accepted: true,
    preferences: { mail: isGiven(index) },
  }))
  writeFileSync(place('records.ndjson'), `${records.map(record => JSON.stringify(record)).join('\n')}\n`)
  expect((await served.run('create', '--file', place('records.ndjson'), '-q')).code).toBe(0)
  const headers = { authorization: `Bearer ${served.account.api_key}` }
  const checkpoint = await fetch(`${served.url}/api/v1/log/checkpoint`, { method: 'POST', headers })
  writeFileSync(place('checkpoint.json'), await checkpoint.text())
  proxy = await startHoldingProxy(served.url)
})
afterAll(() => proxy?.close())

const flags = ['check', '--file', '', '--column', 'e-mail', '--purpose', 'mail']
const gate = (folder: string) => {
  const outputs = ['allowed', 'stopped', 'gate'].map(file => join(folder, file))
  const [allowed = '', stopped = '', receipt = ''] = outputs
  return [...flags.with(2, place('list.csv')), '--out', allowed, '--stopped-out', stopped, '--receipt-out', receipt]
}

describe('check --file', () => {
  it('filters a list, and signs a receipt that verify, verify.py and openssl verify', async () => {
    const ran = await served.run(...gate(work))
    expect(ran.stderr).toBe('allowed 900 lines: 900 consented\nstopped 2100 lines: 300 no_record, 1800 refused\n')
    expect(ran.code).toBe(10)
    const isAllowed = (_: string, index: number) => index % 10 > 0 && isGiven(index)
    expect(read('allowed')).toBe(header + lines.filter(isAllowed).join(''))
    expect(read('stopped')).toBe(header + lines.filter((line, index) => !isAllowed(line, index)).join(''))
    const receipt = JSON.parse(read('gate'))
    const { tree_size, root_hash, created_at } = JSON.parse(read('checkpoint.json'))
    expect(receipt).toMatchObject({
      account_id: served.account.account_id,
      checkpoint: { tree_size, root_hash, created_at },
    })
    expect((await served.run('verify', place('gate'), '--list', place('allowed'))).code).toBe(0)
    expect((await served.run('verify', place('gate'), '--list', place('stopped'))).code).toBe(5)
    writeFileSync(place('receipt.json'), read('gate'))
    const script = readCommands('erasure receipt').split('\n').slice(1).join('\n')
    const env = { ...served.client, PATH: pathWithConsentctl(served.folder.path) }
    expect((await runScript(work, script, env)).stdout).toBe('Signature Verified Successfully\n')
    if (!hasVerifier) return
    const python = ['--profile-key', place('key.pem'), place('gate'), '--list', place('allowed')]
    expect(runVerifier(python)).toMatchObject({ status: 0, lines: [expect.stringContaining('is valid, and allows')] })
  })

  it.each(['SIGKILL', 'SIGINT'] as const)('when %s comes in between, leaves no output file', async signal => {
    const folder = place(signal)
    mkdirSync(folder)
    const isHeld = proxy.hold(2, false)
    const { child, ended } = start(gate(folder), { ...served.client, CONSENTCTL_BASE_URL: proxy.url })
    await isHeld
    child.kill(signal)
    const { code } = await ended
    proxy.release()
    const left = readdirSync(folder)
    expect(left.filter(file => !file.endsWith('.part'))).toEqual([])
    if (signal === 'SIGINT') expect([code, left]).toEqual([130, []])
  })

  it.skipIf(!tiny)('when the disk is full, leaves no output file, and exits with 1', async () => {
    const { place: disk, filler, leave } = tiny ?? { place: '', filler: '', leave: () => {} }
    for (const free of [0, 16, 48]) {
      rmSync(filler, { force: true })
      leave(free)
      const ran = await served.run(...gate(disk))
      expect([free, ran.code], ran.stderr).toEqual([free, 1])
      expect(ran.stderr).toContain('ENOSPC')
      expect(readdirSync(disk)).toEqual(['filler'])
    }
  })
})
