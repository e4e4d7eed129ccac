import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Context } from '../../../src/context.ts'
import { appendReceipt } from '../../../src/erasure/receipts.ts'
import { readSigningKey } from '../../../src/evidence/keys.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { locateReceipts, writeHead } from '../../../src/receipts/store.ts'
import { expectExit, useCli, uuid } from '../support.ts'
import { fakeInstance, freshFolders, maria } from './fake-instance.ts'

const cli = useCli()
let folders: ReturnType<typeof freshFolders>
beforeEach(() => {
  folders = freshFolders(cli)
})

/** Makes receipts in a chain. */
async function makeReceipts(length: number) {
  for (let number = 1; number <= length; number += 1) {
    fakeInstance(cli, 2)
    expect(await folders.run('erase', maria, '--yes', '--ticket', `T-${number}`)).toMatchObject({ code: 0 })
  }
}

const deletions = () => cli.sent().filter(({ method }) => method === 'DELETE').length

it('subject erase deletes nothing if no receipt could be written (exit 2)', async () => {
  await makeReceipts(1)
  const before = deletions()
  rmSync(join(folders.state, 'receipts'), { recursive: true })
  rmSync(join(folders.config, 'receipt-keys', 'default.head'))
  writeFileSync(join(folders.state, 'receipts'), '')
  fakeInstance(cli, 2)
  const ran = await folders.run('erase', maria, '--yes', '--ticket', 'T')
  expectExit(ran, 2, /cannot make the folder .*receipts\/default: ENOTDIR/)
  expect([deletions() - before, folders.journals()]).toEqual([0, []])
})

describe('a receipt that does not match its schema', () => {
  it('is never appended to the chain', async () => {
    await makeReceipts(1)
    const { signature: _, ...first } = JSON.parse(readFileSync(folders.receipt(1), 'utf8'))
    const key = readSigningKey(readFileSync(join(folders.config, 'receipt-keys', 'default.pem'), 'utf8'))
    const settings = { folder: folders.config, stateFolder: folders.state, profile: { value: 'default' } }
    const append = (more: object) =>
      appendReceipt(
        locateReceipts({ settings, warn: async () => {} } as unknown as Context),
        uuid(7),
        (number, previous) => signDocument({ ...first, job: uuid(7), number, previous, ...more }, key),
      )
    const counts = { deleted: -1, already_gone: 0 }
    await expect(append({ counts })).rejects.toMatchObject({
      exit: 5,
      message: expect.stringContaining('counts.deleted'),
    })
    expect(folders.receipts()).toEqual(['000001.json'])
    expect(await folders.verify('last')).toEqual({ code: 0, failed: [] })
  })

  it('is reported by the list (exit 8), and prevents resume from making a second one', async () => {
    await makeReceipts(3)
    const { job } = JSON.parse(readFileSync(folders.receipt(2), 'utf8'))
    writeFileSync(folders.receipt(2), 'no receipt')
    const listed = await folders.run('receipts', '-o', 'id')
    expect(listed).toMatchObject({ code: 8, stdout: '3\n1\n' })
    expect(listed.stderr).toContain('000002.json')
    expectExit(await folders.run('resume', job), 5, '000002')
    expect(folders.receipts()).toHaveLength(3)
  })
})

it('subject receipts --subject reports receipts that it cannot judge, because another key signed them', async () => {
  await makeReceipts(2)
  rmSync(join(folders.config, 'receipt-keys', 'default.pem'))
  await makeReceipts(1)
  const listed = await folders.run('receipts', '--subject', maria, '-o', 'id')
  expect(listed).toMatchObject({ code: 8, stdout: '3\n' })
  expect(listed.stderr).toContain('2 receipts are signed by another key')
  const all = await folders.run('receipts', '-o', 'id')
  expect(all).toMatchObject({ code: 0, stdout: '3\n2\n1\n' })
  expect(all.stderr).toContain('2 receipts are signed by another key')
  expectExit(await folders.run('receipts', '1', '--format', 'md'), 0, 'its signature was not verified')
})

it('subject receipts does not list a changed receipt or format its page, and reports it when printing its bytes', async () => {
  await makeReceipts(2)
  writeFileSync(folders.receipt(1), readFileSync(folders.receipt(1), 'utf8').replace('T-1', 'T-9'))
  const listed = await folders.run('receipts', '-o', 'id')
  expect(listed).toMatchObject({ code: 8, stdout: '2\n' })
  expect(listed.stderr).toContain('the signature of receipt 1 is invalid')
  expect(await folders.run('receipts', '1', '--format', 'md')).toMatchObject({ code: 5, stdout: '' })
  expect(await folders.run('receipts', '1')).toMatchObject({
    code: 5,
    stdout: expect.stringContaining('T-9'),
    stderr: expect.stringContaining('the signature of receipt 1 is invalid'),
  })
  expect(await folders.run('receipts', '2')).toMatchObject({ code: 0, stderr: '' })
})

describe('the newest receipt of a chain', () => {
  const head = () => join(folders.config, 'receipt-keys', 'default.head')
  const erase = () => {
    fakeInstance(cli, 1)
    return folders.run('erase', maria, '--yes', '--ticket', 'T')
  }

  it('is reported as missing if it was removed, and its number is not reused', async () => {
    await makeReceipts(3)
    const before = deletions()
    const third = readFileSync(folders.receipt(3))
    rmSync(folders.receipt(3))
    for (const wanted of ['last', '1'])
      expect(await folders.verify(wanted)).toEqual({ code: 5, failed: ['chain: receipt 3 is missing'] })
    expect(await erase()).toMatchObject({ code: 5, stderr: expect.stringContaining('receipt 3 is missing') })
    expect(folders.receipts()).toEqual(['000001.json', '000002.json'])
    expect([deletions() - before, folders.journals()]).toEqual([0, []])
    writeFileSync(folders.receipt(3), third)
    expect(await folders.verify('last')).toEqual({ code: 0, failed: [] })
  })

  it('is reported as missing if all receipts were removed', async () => {
    await makeReceipts(1)
    const kept = join(folders.state, 'kept.json')
    writeFileSync(kept, readFileSync(folders.receipt(1)))
    rmSync(dirname(folders.receipt(1)), { recursive: true })
    expect((await folders.verify(kept)).code).toBe(5)
    rmSync(head())
    expect((await folders.verify(kept)).failed).toEqual(['chain: receipt 1 is not in the chain'])
  })

  it('may be newer than the head, if its process was killed before it wrote that', async () => {
    await makeReceipts(1)
    const before = readFileSync(head())
    await makeReceipts(1)
    writeFileSync(head(), before)
    expect(await folders.verify('last')).toEqual({ code: 0, failed: [] })
    expect(await erase()).toMatchObject({ code: 0 })
    expect(JSON.parse(readFileSync(head(), 'utf8'))).toMatchObject({ number: 3 })
    rmSync(head())
    expect(await erase()).toMatchObject({ code: 0 })
    expect(await folders.verify('last')).toEqual({ code: 0, failed: [] })
  })

  it('stays, with a warning, if the head cannot be written', async () => {
    const said: string[] = []
    const settings = {
      folder: join(folders.config, 'gone'),
      stateFolder: folders.state,
      profile: { value: 'default' },
    }
    const warn = async (line: string) => void said.push(line)
    await writeHead(locateReceipts({ settings, warn } as unknown as Context), {
      number: 7,
      sha256: '0'.repeat(64),
    })
    expect(said).toEqual([expect.stringContaining('the loss of receipt 7 would not be noticed')])
  })
})
