import { createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { verifyDocument } from '../../../src/evidence/document.ts'
import { trustKeys } from '../../../src/evidence/key-chain.ts'
import { schemaProblems } from '../../support/document-schema.ts'
import { examples, profileKey, purgeReceipt } from '../evidence/examples.ts'
import { machineError, ndjson, useCli } from '../support.ts'
import { fakeInstance, freshFolders, maria } from './fake-instance.ts'

const cli = useCli()
const otherRecord = JSON.parse(examples['erasure receipt'] ?? '').records.map((record: object) => ({
  ...record,
  id: '019c1363-49c0-7c3e-9a51-2f6a1f0d9b12',
}))

describe('verify with documents signed by a profile', () => {
  it('accepts receipts and manifests without any request, and on another machine with the public key', async () => {
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
    const rows = ndjson(stdout)
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

    await cli.run(['config', 'set', 'base_url', cli.instance.url, '-p', 'other'], { env: folders.env })
    const other = await verify(folders.env, '-p', 'other')
    expect([other.code, other.stdout], other.stderr).toEqual([
      5,
      expect.stringContaining('it is not that of the profile other but that of the profile default: -p default'),
    ])
  })

  it('rejects a manifest whose export was changed, and says if the export is missing', async () => {
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

  it('when given the export itself, of any size, names its manifest', async () => {
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

function trust(keys: readonly KeyObject[]) {
  const byId = trustKeys(keys.map(publicKey => ({ publicKey, statement: null, revocation: null })))
  return { byId, sourceOf: () => 'given', none: 'none' }
}

describe('a purge receipt', () => {
  const before = 'logically deleted; personal data to be purged after 30 days'
  const said =
    'personal data of 1 record purged by 2026-02-03T09:30:00.000Z, certified by the service; what is left is pseudonymous; backups, write-ahead logs and free space of the database are not covered'
  const verify = (text: string) =>
    verifyDocument(Buffer.from(text), { findKeys: async () => trust([createPublicKey(profileKey)]) })

  it('matches its schema, and is valid if it agrees with its certificates', async () => {
    expect(schemaProblems(purgeReceipt(said))).toEqual([])
    expect(await verify(purgeReceipt(said))).toMatchObject({ result: 'valid' })
  })

  it.each<[string, Parameters<typeof purgeReceipt>]>([
    ['more records than its certificates', [said.replace('1 record', '2 records')]],
    ['another time than its certificates', [said.replace('09:30:00', '09:30:01')]],
    ['what the erasure said', [before]],
    ['a purge that it does not have', [said, { purge: undefined }]],
    ['a record that its certificates do not name', [said, { records: otherRecord }]],
  ])('is rejected if it states %s', async (_, args) => {
    const detail = 'it is signed, but contradicts its purge certificates'
    expect(await verify(purgeReceipt(...args))).toMatchObject({ result: 'not_valid', detail })
  })
})
