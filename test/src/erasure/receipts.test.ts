import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Context } from '../../../src/context.ts'
import { appendReceipt } from '../../../src/erasure/receipts.ts'
import { readSigningKey } from '../../../src/evidence/keys.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { locateReceipts, toFileName, writeHead } from '../../../src/receipts/store.ts'
import { schemaProblems } from '../../support/document-schema.ts'
import { expectExit, hostileCases, useCli, uuid } from '../support.ts'
import { fakeInstance, freshFolders, lastReceipt, maria } from './fake-instance.ts'

const cli = useCli()
let folders: ReturnType<typeof freshFolders>

const erase = (...more: string[]) => folders.run('erase', maria, '--yes', ...more)
const keyFile = () => join(folders.config, 'receipt-keys', 'default.pem')
beforeEach(() => {
  folders = freshFolders(cli)
})

async function makeReceipts(length = 3) {
  for (let number = 1; number <= length; number += 1) {
    fakeInstance(cli, 2)
    expect(await erase('--ticket', `T-${number}`)).toMatchObject({ code: 0 })
  }
}

describe('a chain of receipts', () => {
  it('verifies starting from any receipt, and all receipts match the published schema', async () => {
    await makeReceipts()
    for (const wanted of ['1', '2', 'last']) expect(await folders.verify(wanted)).toEqual({ code: 0, failed: [] })
    const { job } = await lastReceipt(folders)
    expect(await folders.verify(job)).toEqual({ code: 0, failed: [] })
    for (const number of [1, 2, 3]) expect(schemaProblems(readFileSync(folders.receipt(number), 'utf8'))).toEqual([])
    expect(await folders.verify(folders.receipt(3), '--subject', maria)).toEqual({ code: 0, failed: [] })
    expect(await folders.verify('1', '--subject', 'somebody else')).toMatchObject({ code: 5 })
  })

  it('does not verify if one bit of a receipt is flipped', async () => {
    await makeReceipts()
    const file = folders.receipt(2)
    const bytes = readFileSync(file)
    for (let index = 0; index < bytes.length; index += 97) {
      const flipped = Buffer.from(bytes)
      flipped[index] = (flipped[index] ?? 0) ^ 1
      writeFileSync(file, flipped)
      expect((await folders.verify('last')).code, `byte ${index}`).toBe(5)
      expect((await folders.run('verify', '2')).code).toBe(5)
    }
    writeFileSync(file, bytes)
    expect(await folders.verify('last')).toEqual({ code: 0, failed: [] })
  })

  it('does not verify if a receipt is missing or replaced, and reports which one', async () => {
    await makeReceipts()
    const third = readFileSync(folders.receipt(3))
    rmSync(folders.receipt(2))
    expect(await folders.verify('3')).toEqual({ code: 5, failed: ['chain: receipt 2 is missing'] })
    writeFileSync(folders.receipt(2), third)
    expect(await folders.verify('1')).toEqual({
      code: 5,
      failed: ['chain: the file of receipt 2 holds receipt 3'],
    })
  })

  it('does not verify if it is forked, even with the same key', async () => {
    await makeReceipts()
    const kept = join(folders.state, 'kept.json')
    writeFileSync(kept, readFileSync(folders.receipt(2)))
    const { signature: _, ...receipt } = JSON.parse(readFileSync(kept, 'utf8'))
    const key = readSigningKey(readFileSync(keyFile(), 'utf8'))
    writeFileSync(folders.receipt(2), signDocument({ ...receipt, ticket: 'T-9' }, key))
    expect((await folders.verify('3')).failed).toEqual(['chain: receipt 3 does not follow the one before it'])
    expect((await folders.verify(kept)).failed).toEqual(['chain: the chain has another receipt 2'])
  })

  it('when many receipts are created concurrently, has no gap and no fork', async () => {
    fakeInstance(cli, 0)
    const all = await Promise.all(Array.from({ length: 12 }, (_, index) => erase('--ticket', `T-${index}`)))
    expect(all.map(({ code }) => code)).toEqual(all.map(() => 0))
    expect(folders.receipts()).toHaveLength(12)
    expect(await folders.verify('12')).toEqual({ code: 0, failed: [] })
    expect(readdirSync(join(folders.config, 'receipt-keys'))).toEqual(['default.head', 'default.pem'])
  })
})

const deletions = () => cli.sent().filter(({ method }) => method === 'DELETE').length

it('when no receipt could be written, subject erase deletes nothing (exit 2)', async () => {
  await makeReceipts(1)
  const before = deletions()
  rmSync(join(folders.state, 'receipts'), { recursive: true })
  rmSync(join(folders.config, 'receipt-keys', 'default.head'))
  writeFileSync(join(folders.state, 'receipts'), '')
  fakeInstance(cli, 2)
  const ran = await erase('--ticket', 'T')
  expectExit(ran, 2, /cannot make the folder .*receipts\/default: ENOTDIR/)
  expect([deletions() - before, folders.journals()]).toEqual([0, []])
})

describe('a receipt that does not match its schema', () => {
  it('is never appended to the chain', async () => {
    await makeReceipts(1)
    const { signature: _, ...first } = JSON.parse(readFileSync(folders.receipt(1), 'utf8'))
    const key = readSigningKey(readFileSync(keyFile(), 'utf8'))
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

  it('is reported by the list (exit 8), and prevents resume from creating a second one', async () => {
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

it('subject receipts --subject reports receipts that another key signed', async () => {
  await makeReceipts(2)
  rmSync(keyFile())
  await makeReceipts(1)
  const listed = await folders.run('receipts', '--subject', maria, '-o', 'id')
  expect(listed).toMatchObject({ code: 8, stdout: '3\n' })
  expect(listed.stderr).toContain('2 receipts name another key')
  const all = await folders.run('receipts', '-o', 'id')
  expect(all).toMatchObject({ code: 0, stdout: '3\n2\n1\n' })
  expect(all.stderr).toContain('2 receipts name another key')
  expectExit(await folders.run('receipts', '1', '--format', 'md'), 0, 'its signature was not verified')
})

it('subject receipts neither lists nor formats a changed receipt, and reports it when printing its bytes', async () => {
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
  const eraseOne = () => {
    fakeInstance(cli, 1)
    return erase('--ticket', 'T')
  }

  it('is reported as missing if it was removed, and its number is not reused', async () => {
    await makeReceipts(3)
    const before = deletions()
    const third = readFileSync(folders.receipt(3))
    rmSync(folders.receipt(3))
    for (const wanted of ['last', '1'])
      expect(await folders.verify(wanted)).toEqual({ code: 5, failed: ['chain: receipt 3 is missing'] })
    expect(await eraseOne()).toMatchObject({ code: 5, stderr: expect.stringContaining('receipt 3 is missing') })
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

  it('may be newer than the head, if its process was killed before writing the head', async () => {
    await makeReceipts(1)
    const before = readFileSync(head())
    await makeReceipts(1)
    writeFileSync(head(), before)
    expect(await folders.verify('last')).toEqual({ code: 0, failed: [] })
    expect(await eraseOne()).toMatchObject({ code: 0 })
    expect(JSON.parse(readFileSync(head(), 'utf8'))).toMatchObject({ number: 3 })
    rmSync(head())
    expect(await eraseOne()).toMatchObject({ code: 0 })
    expect(await folders.verify('last')).toEqual({ code: 0, failed: [] })
  })

  it('is kept, with a warning, if the head cannot be written', async () => {
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

describe('the key of a profile', () => {
  it('is created at first use, readable only by its owner; keys show prints its public half', async () => {
    const first = await folders.run('keys', 'show')
    expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----\n/) })
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(keyFile())).mode & 0o777).toBe(0o700)
    chmodSync(keyFile(), 0o644)
    expect(await folders.run('keys', 'show')).toMatchObject({
      stdout: first.stdout,
      stderr: expect.stringContaining('open to others'),
    })
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600)
    writeFileSync(keyFile(), 'no key')
    expect(await folders.run('keys', 'show')).toMatchObject({ code: 2 })
  })

  it.each(['../../x', '.', '..', '', '.hidden', 'a/b', 'a\\b', 'C:x', 'a\0b', 'ü'.repeat(150)])(
    'stays in its folder with any profile name: %j',
    name => expect(toFileName(name)).toMatch(/^~[\da-f]{64}$/),
  )

  it('verifies a receipt with openssl', async () => {
    await makeReceipts()
    const [folder, file] = [folders.state, folders.receipt(3)]
    writeFileSync(join(folder, 'key.pem'), (await folders.run('keys', 'show')).stdout)
    const script = `sed '$d' ${file} > lines; tail -n 1 ${file} | cut -d '"' -f 4 | base64 -d > signature
      openssl pkeyutl -verify -pubin -inkey key.pem -rawin -in lines -sigfile signature`
    expect(spawnSync('sh', ['-c', script], { cwd: folder, encoding: 'utf8' }).stdout).toContain('Verified Successfully')
    writeFileSync(file, readFileSync(file, 'utf8').replace('T-3', 'T-4'))
    expect(spawnSync('sh', ['-c', script], { cwd: folder }).status).not.toBe(0)
  })

  it('when it is from another machine, verifies with --public-key without its chain', async () => {
    await makeReceipts()
    const pem = join(folders.state, 'key.pem')
    writeFileSync(pem, (await folders.run('keys', 'show')).stdout)
    const [file, theirs] = [folders.receipt(3), folders]
    folders = freshFolders(cli)
    mkdirSync(folders.state)
    expect((await folders.verify(file)).failed[0]).toContain('signature: it names another key')
    expect(await folders.verify(file, '--public-key', pem)).toEqual({ code: 0, failed: [] })
    expect(existsSync(theirs.receipt(3))).toBe(true)
  })
})

describe('subject receipts', () => {
  it('when the receipt does not exist, reports it as a ticket and as a file', async () => {
    fakeInstance(cli, 1)
    const { code, stdout } = await folders.run('verify', 'D-2', '--json')
    expect([code, JSON.parse(stdout)]).toMatchObject([
      2,
      [
        {
          detail: 'no receipt of the profile default has the ticket D-2, and there is no such file',
          remedy: 'consentctl subject receipts',
        },
      ],
    ])
  })

  it('lists receipts newest first, and those of a subject', async () => {
    await makeReceipts()
    const { stdout } = await folders.run('receipts', '-o', 'json')
    expect(JSON.parse(stdout)).toMatchObject([{ number: 3, ticket: 'T-3', deleted: 2 }, { number: 2 }, { number: 1 }])
    expect((await folders.run('receipts', '--subject', maria, '-o', 'id')).stdout).toBe('3\n2\n1\n')
    expect((await folders.run('receipts', '--subject', 'other', '-o', 'id')).stdout).toBe('')
    expect((await folders.run('receipts', '2')).stdout).toBe(readFileSync(folders.receipt(2), 'latin1'))
    expect(await folders.run('receipts', '4')).toMatchObject({ code: 3 })
    expect(await folders.run('receipts', '../x')).toMatchObject({ code: 3 })
  })

  it('does not show the subject unless requested', async () => {
    fakeInstance(cli, 1)
    await erase('--ticket', 'T')
    const printed = `${readFileSync(folders.receipt(1))}${(await folders.run('receipts', '1', '--format', 'md')).stdout}`
    expect(printed).not.toContain('maria')
  })

  it('--format md prints addresses unescaped on a terminal, and escapes them elsewhere', async () => {
    fakeInstance(cli, 1)
    await erase('--ticket', 'a&#27;[31mb')
    const args = ['subject', 'receipts', '1', '--format', 'md']
    const { stdout } = await cli.run(args, { env: folders.env, tty: { stdout: true } })
    expect(stdout).toContain(`| ${cli.instance.url} |`)
    expect(stdout).toContain('a&#27;[31mb')
    expect((await folders.run('receipts', '1', '--format', 'md')).stdout).toContain('http&#58;//')
  })

  it.each(hostileCases)('--format md escapes hostile text: %s', async (_, text) => {
    if (!text.isWellFormed() || text.includes('\0')) return
    fakeInstance(cli, 1)
    const mark = `${text} | <b> [x](https://evil.example) \`a\` **b** @team #1 `
    expect(await erase('--ticket', mark.slice(0, 99), '--reason', mark)).toMatchObject({ code: 0 })
    const { stdout } = await folders.run('receipts', '1', '--format', 'md')
    const lines = stdout.split('\n')
    expect(lines.filter(line => line.startsWith('#'))).toHaveLength(5)
    const [reason = ''] = lines.filter(line => line.startsWith('| Reason'))
    expect(reason.split('|')).toHaveLength(4)
    expect(stdout).not.toMatch(/<b>|\]\(|https:\/\/evil|@team|\*\*b|[^\P{Cc}\n]/u)
  })
})
