import { createPublicKey } from 'node:crypto'
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { judge } from '../../../src/commands/verify/judge.ts'
import { readReceipt } from '../../../src/erasure/receipts.ts'
import { describeOnTerminal } from '../../../src/erasure/sentences.ts'
import { trustKeys } from '../../../src/evidence/key-chain.ts'
import { signingKeyOf } from '../../../src/evidence/keys.ts'
import { splitDocuments } from '../../../src/evidence/signed.ts'
import { schemaProblems } from '../../support/document-schema.ts'
import { machineError, useCli } from '../support.ts'
import { fakeInstance, freshFolders, maria } from './fake-instance.ts'

const cli = useCli()

describe('verify, for documents that a profile has signed', () => {
  it('accepts receipts and manifests without any request, and elsewhere with the public key', async () => {
    fakeInstance(cli, 2)
    const folders = freshFolders(cli)
    const file = join(folders.state, '..', `${Math.random()}.json`)
    expect(await folders.run('export', maria, '--out', file)).toMatchObject({ code: 0 })
    expect(await folders.run('erase', maria, '--ticket', 'T', '--yes')).toMatchObject({ code: 0 })
    const documents = [folders.receipt(1), `${file}.manifest.json`]
    for (const document of documents) expect(schemaProblems(readFileSync(document, 'utf8'))).toEqual([])

    const asked = cli.sent().length
    const verify = (env: Record<string, string>, ...args: string[]) =>
      cli.run(['verify', ...documents, ...args, '-o', 'ndjson'], { env })
    const { code, stdout } = await verify(folders.env)
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(rows.map(({ type, result }) => [type, result])).toEqual([
      ['erasure_receipt', 'valid'],
      ['export_manifest', 'valid'],
    ])
    expect(rows[0].detail).toBe('the key is that of the profile default')
    expect(rows[1].detail).toContain(`${file} is the export that it is for`)
    expect([code, cli.sent().length]).toEqual([0, asked])

    const elsewhere = freshFolders(cli)
    const stranger = await verify(elsewhere.env)
    expect(stranger.code).toBe(5)
    expect(stranger.stdout).toContain('which is unknown: it is not that of the profile default')
    const key = join(folders.state, 'public.pem')
    writeFileSync(
      key,
      (await folders.run('keys', 'show', '--json')).stdout
        .replace(/[\s\S]*?(-----BEGIN[^"]*)"[\s\S]*/, '$1')
        .replaceAll('\\n', '\n'),
    )
    expect(await verify(elsewhere.env, '--public-key', key)).toMatchObject({ code: 0 })
  })

  it('refuses a manifest whose export was changed, and says if the export is missing', async () => {
    fakeInstance(cli, 1)
    const folders = freshFolders(cli)
    const file = join(folders.state, '..', `${Math.random()}.json`)
    expect(await folders.run('export', maria, '--out', file)).toMatchObject({ code: 0 })
    const verify = async () => {
      const { code, stdout } = await cli.run(['verify', `${file}.manifest.json`, '--json'], {
        env: folders.env,
      })
      return [code, JSON.parse(stdout).detail]
    }
    writeFileSync(file, readFileSync(file, 'utf8').replace('maria', 'Maria'))
    expect(await verify()).toEqual([5, expect.stringContaining('is not the export that it is for')])
    rmSync(file)
    expect(await verify()).toEqual([0, expect.stringContaining('its export is not beside it')])
  })

  it('names the manifest if it is given the export itself, of any size', async () => {
    fakeInstance(cli, 1)
    const folders = freshFolders(cli)
    const file = join(folders.state, '..', `${Math.random()}.json`)
    expect(await folders.run('export', maria, '--out', file)).toMatchObject({ code: 0 })
    const verify = () => cli.run(['verify', file, '--json'], { env: folders.env })
    const { code, stdout } = await verify()
    expect([code, JSON.parse(stdout).detail]).toEqual([
      5,
      expect.stringMatching(/^it .*; verify \S+\.manifest\.json instead$/),
    ])
    truncateSync(file, 65 * 2 ** 20)
    const large = await verify()
    expect(large.code).toBe(5)
    expect(machineError(large.stderr)).toMatchObject({ hint: `consentctl verify ${file}.manifest.json` })
  })
})

describe('documents of version 1', () => {
  const texts = splitDocuments(readFileSync(new URL('../../fixtures/documents-v1.txt', import.meta.url), 'utf8'))
  const keys = [1, 2].map(byte => createPublicKey(signingKeyOf(Buffer.alloc(32, byte))))
  const byId = trustKeys(keys.map(publicKey => ({ publicKey, statement: null, revocation: null })))

  it.each(texts.map(text => [JSON.parse(text).type, text]))('verify as before: %s', async (type, text) => {
    expect(JSON.parse(text).version).toBe(1)
    expect(schemaProblems(text)).toEqual([])
    const verdict = await judge('document.json', Buffer.from(text), async () => ({ byId, sourceOf: () => 'given', none: '' }))
    expect(verdict).toMatchObject({ type, result: 'valid' })
  })

  it('are read as naming neither the account nor the clock', () => {
    const receipts = texts.filter(text => JSON.parse(text).type === 'erasure_receipt')
    const [first, next] = receipts.map(text => readReceipt('r', Buffer.from(text)).receipt)
    expect(first).toMatchObject({ account_id: null, api_key_id: null, records: [{ deleted_at_by: null }] })
    expect(next && describeOnTerminal(next, 'x')).toContain('among the records that the key can see')
  })
})
