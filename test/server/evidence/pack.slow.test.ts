import { createHash, type KeyObject } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findSecret } from '../../../server/db/secrets.ts'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { describeOrigin } from '../../../src/contract/origin.ts'
import { keyIdOf, newSigningKey, publicPem, signingKeyOf } from '../../../src/evidence/keys.ts'
import { leafHash, MerkleTree } from '../../../src/evidence/merkle.ts'
import { consistencyOf, listFiles } from '../../../src/evidence/pack.ts'
import { inclusionRanges } from '../../../src/evidence/proofs.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { randomFrom } from '../../e2e/campaign.ts'
import { keySetOf } from '../../src/signed-consent-receipt.ts'
import { run, useFolder } from '../../support/cli.ts'
import { runScript } from '../../support/documented-commands.ts'
import { mediaBytes, useService } from '../../support/service.ts'
import { hasVerifier, runVerifier } from '../../support/verifier.ts'
import { type Importer, newImporter } from '../consents/imports.ts'
import { purgeNow } from '../purge/purge.ts'

/** Packs that the verifier in Python accepts, and changes of a byte in each of a twentieth of them (at least one). */
const packs = Number(process.env['CONSENTCTL_TEST_PACKS'] ?? 5)
const flips = packs >= 100 ? 200 : 20
const seed = Number(process.env['CONSENTCTL_TEST_SEED'] ?? Date.now() % 1_000_000_000)

const service = useService()
const folder = useFolder()
let owner: Importer
let own: KeyObject
beforeAll(async () => {
  own = signingKeyOf((await findSecret(service.sql, 'signing')) ?? Buffer.alloc(0))
  owner = await newImporter(service)
  const headers = await service.signIn(owner)
  const call = async (method: string, rest: string, body: unknown) => {
    const path = `/api/v1/sites/${owner.siteId}/notices/2${rest}`
    const { status, text } = await service.call(method, path, { headers, body })
    expect(status, text).toBeLessThan(300)
  }
  await call('PUT', '', { controller: hostile, purposes: [{ key: 'marketing', title: hostile }] })
  for (const [language, type, text] of texts) await call('PUT', `/texts/${language}`, mediaBytes(text, type))
  await call('POST', '/publish', {})
})

const hostile = '</td><script>alert(1)</script>\n    touch pwned\u202e"\'&'

const texts = [
  ['de', 'text/markdown', 'Wir möchten Ihnen schreiben. 🍪\r\n'],
  ['en', 'text/html', hostile],
  ['fr', 'application/pdf', Buffer.from([0x25, 0x50, 0x44, 0x46, 0x00, 0xff])],
] as const

type Files = Map<string, Buffer>

const cover = async () => coverAll({ sql: service.sql, signer: await openSigner(service.sql, null) })

const cli = (args: string[]) =>
  run(args, { env: { HOME: folder.path, CONSENTCTL_BASE_URL: service.url, CONSENTCTL_API_KEY: owner.key } })

/** Verifies without the service. */
async function verify(path: string, ...options: string[]) {
  const env = { HOME: folder.path }
  const { code, stdout, stderr } = await run(['verify', path, '-o', 'ndjson', ...options], { env })
  const rows = stdout.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line)]))
  return { code, stderr, rows, wrong: rows.filter(({ result }) => result !== 'valid') }
}

function read(path: string): Files {
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' })
  return new Map(
    names.filter(name => statSync(join(path, name)).isFile()).map(name => [name, readFileSync(join(path, name))]),
  )
}

let copies = 0
/** Writes files to a folder of their own. */
function put(files: Files): string {
  copies += 1
  const path = join(folder.path, `copy-${copies}`)
  for (const [name, bytes] of files) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), bytes)
  }
  return path
}

async function write(name: string, ...args: string[]): Promise<string> {
  const path = join(folder.path, name)
  const { code, stderr } = await cli(['evidence', ...args, '--out', path])
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/wrote .*: the (evidence|certificates?) of /),
  })
  return path
}

async function expectValid(path: string): Promise<void> {
  const { code, stderr, wrong } = await verify(path)
  const warning = `the keys are those in ${path} itself, and anyone can make one with keys of their own: only --keys, with keys from elsewhere, shows who signed\n`
  expect({ code, stderr, wrong }).toEqual({ code: 0, stderr: warning, wrong: [] })
}

async function newImport(index: number, fields: object = {}): Promise<{ readonly id: string }> {
  const change = { given_at: '2022-01-01T00:00:00Z', accepted: false, preferences: {}, file_sha256: 'f2'.repeat(32) }
  const origin = { system: hostile, id: `${index}`, ...(index % 2 === 0 && { evidence: hostile }) }
  const [result] = await owner.sendAll([
    owner.row(`${index}`, { origin, policy_version: 2, changes: [change], ...fields }),
  ])
  if (!result?.consent) throw new Error(JSON.stringify(result))
  return result.consent
}

/** A record with a history of its own; every fifth was imported. */
async function newRecord(index: number): Promise<string> {
  if (index % 5 === 4) {
    const { id } = await newImport(index)
    if (index % 3 === 1) await owner.update(id, { accepted: true })
    return id
  }
  const { id } = await owner.create({
    subject_id: `${hostile} ${index}`,
    accepted: true,
    preferences: { [hostile]: index },
    policy_version: index % 4 === 3 ? 1 : 2,
    ...(index % 2 === 1 && index % 4 !== 3 && { notice_locale: 'de' }),
  })
  for (let change = 0; change < index % 4; change += 1) await owner.update(id, { accepted: change % 2 === 1 })
  if (index % 3 === 2) await owner.remove(id)
  return id
}

describe('consentctl evidence', () => {
  it('writes a folder that verifies offline, with the program and with its verify.sh', async () => {
    const id = await newRecord(1)
    await cover()
    const path = await write('case', id)
    await expectValid(path)
    const files = read(path)
    for (const [name, [, , text]] of Object.entries({ 'de.md': texts[0], 'en.html.txt': texts[1], 'fr.pdf': texts[2] }))
      expect(files.get(`notice/${name}`)).toEqual(Buffer.from(text))
    expect([...files.keys()].filter(name => name.startsWith('notice/'))).toHaveLength(texts.length)
    expect([...files.keys()].some(name => name.startsWith('administration/'))).toBe(true)
    expect([...files.keys()].filter(name => statSync(join(path, name)).mode & 0o077)).toEqual([])
    const again = await cli(['evidence', id, '--out', path])
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('already exists')])

    const script = 'sh verify.sh'
    const forged = read(path)
    forged.set('record.json', Buffer.from(String(files.get('record.json')).replace('</td>', '</th>')))
    const refused = await runScript(put(forged), script)
    expect([refused.code, refused.stdout]).toEqual([1, expect.stringMatching(/record.json: FAILED/)])
    const ran = await runScript(path, script)
    expect([ran.code, ran.stderr]).toEqual([0, ''])
    expect(ran.stdout.match(/is in the log of checkpoint.json/g)?.length).toBeGreaterThanOrEqual(2)
    const signed = [...files.keys()].filter(name => /^checkpoints\/\d+\.json$/.test(name))
    expect(ran.stdout.match(/Signature Verified Successfully/g)).toHaveLength(3 + signed.length)
    expect(read(path)).toEqual(files)
    expect(String(files.get('README.txt')).replace(/\s+/g, ' ')).toContain('e-mail addresses of users are in clear')
    const certificate = String(files.get('certificate.html'))
    expect(certificate).toContain('&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(certificate).not.toMatch(/<script|\u202e|https?:/)
  })

  it('for a subject, creates a folder for each record, including deleted and purged ones', async () => {
    const subject_id = 'maria@example.com'
    const [live, deleted, purged] = [
      await owner.create({ subject_id, policy_version: 1 }),
      await owner.create({ subject_id }),
      await owner.create({ subject_id, user_agent: 'Firefox' }),
    ]
    await owner.remove(purged.id)
    await cover()
    const imported = await newImport(1_000_000, { subject_id: 'jo' })
    await owner.remove(imported.id)
    const before = await write('before', purged.id)
    await purgeNow(service.sql)
    await owner.remove(deleted.id)
    await cover()
    await expectValid(before)
    const [path, archive] = [
      await write('maria', '--subject', subject_id),
      await write('maria.tar', '--subject', subject_id),
    ]
    expect(readdirSync(path).sort()).toEqual([live.id, deleted.id].sort())
    const afterPurge = [await write('after', purged.id), await write('after-import', imported.id)]
    for (const each of [path, archive, ...afterPurge]) await expectValid(each)
    if (hasVerifier) expect(runVerifier(afterPurge).status).toBe(0)
    const { subject_id: none, origin } = JSON.parse(String(read(afterPurge[1] ?? '').get('record.json')))
    expect([none, origin]).toEqual([null, { system: hostile, id: null, evidence: null }])
    expect((await cli(['verify', afterPurge[0] ?? ''])).stdout).not.toContain('the person, the site')
    expect(String(read(afterPurge[0] ?? '').get('README.txt'))).not.toMatch(/covers\s+the\s+person/)
    expect((await cli(['verify', before])).stdout).toContain('the person, the site')
    const [cut, link] = [join(folder.path, 'cut.tar'), join(folder.path, 'link')]
    writeFileSync(cut, readFileSync(archive).subarray(0, 513))
    expect(await cli(['verify', cut])).toMatchObject({ code: 5, stderr: expect.stringContaining('was cut off') })
    symlinkSync(path, link)
    await expectValid(link)
    expect(read(join(path, deleted.id)).has('receipt.json')).toBe(false)
    expect(String(read(join(path, live.id)).get('README.txt'))).toMatch(/up\s+to\s+a\s+second\s+before/)
    const certificateOf = (folder: string) => String(read(folder).get('certificate.html'))
    expect(certificateOf(join(path, deleted.id))).toMatch(
      /by this record there is no consent[\s\S]*This pack has no receipt/,
    )
    expect(certificateOf(join(path, live.id))).toContain('The record was never deleted.')
    expect(certificateOf(afterPurge[0] ?? '')).toContain('The identifier of the person was purged.')
    expect(String(read(join(folder.path, 'after')).get('record.json'))).not.toContain('maria')
    expect(await cli(['evidence', '--subject', 'nobody', '--out', join(folder.path, 'none')])).toMatchObject({
      code: 3,
    })
    expect(readdirSync(folder.path).filter(name => /none|part/.test(name))).toEqual([])
  })

  it('with --pdf-ready, writes only the certificate, or with --subject a folder of certificates', async () => {
    const { id } = await owner.create({ subject_id: 'pia', policy_version: 1 })
    const page = readFileSync(await write('pia.html', id, '--pdf-ready'), 'utf8')
    expect(page).toContain('Person: “<bdi>pia</bdi>”')
    const again = await cli(['evidence', id, '--pdf-ready', '--out', join(folder.path, 'pia.html')])
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('already exists')])
    expect([...read(await write('pia', '--subject', 'pia', '--pdf-ready')).keys()]).toEqual([`${id}.html`])
  })

  it('creates a checkpoint for a record that is not in the log yet', async () => {
    const { id } = await owner.create()
    await expectValid(await write('fresh', id))
  })

  it('when a reader requests a record that is not in the log yet, returns 503 until it is', async () => {
    const { id } = await owner.create()
    await service.sql`update users set role = 'reader' where id = ${owner.userId}`
    try {
      const headers = await service.signIn(owner)
      const get = () => service.call('GET', `/api/v1/consents/${id}/evidence`, { headers })
      expect(await get()).toMatchObject({ status: 503, body: { error: 'unavailable' } })
      await cover()
      expect((await get()).status).toBe(200)
    } finally {
      await service.sql`update users set role = 'owner' where id = ${owner.userId}`
    }
  })

  it('when the texts of the notice exceed 16 MiB in total, returns 409', async () => {
    const other = await newImporter(service)
    const headers = await service.signIn(other)
    const path = `/api/v1/sites/${other.siteId}/notices/2`
    await service.call('PUT', path, { headers, body: {} })
    const body = mediaBytes('x'.repeat(2 ** 20), 'text/plain')
    for (const language of 'de en fr it es pt nl da sv fi pl cs sk hu ro bg el'.split(' '))
      await service.call('PUT', `${path}/texts/${language}`, { headers, body })
    expect((await service.call('POST', `${path}/publish`, { headers, body: {} })).status).toBe(200)
    const { id } = await other.create({ policy_version: 2 })
    await cover()
    const { status, text } = await service.call('GET', `/api/v1/consents/${id}/evidence`, { headers })
    expect([status, text]).toEqual([409, expect.stringContaining('exceed 16 MiB in total')])
  })

  it.each<[what: string, answer: () => Promise<Answers>, problem: string]>([
    [
      'something else than a pack',
      async () => ({ '/evidence': Buffer.from('not a pack') }),
      'is not an archive of an evidence pack',
    ],
    [
      'the pack of another record',
      async () => ({ '/evidence': await archiveOf(owner) }),
      'the archive is of the record ',
    ],
    [
      'another account',
      async () => ({
        '/caller': Buffer.from(JSON.stringify({ account_id: owner.siteId, kind: 'user', id: owner.userId })),
      }),
      `the archive is of the account `,
    ],
    [
      'the keys of a stranger',
      async () => ({ '/consent-keys.json': Buffer.from(JSON.stringify(keySetOf(stranger))) }),
      'none of those published by ',
    ],
  ])('when a proxy responds with %s, writes nothing', async (_what, answer, problem) => {
    const { id } = await owner.create()
    await cover()
    const baseUrl = await proxy(await answer())
    const { code, stderr } = await cli(['evidence', id, '--out', join(folder.path, 'other'), '--base-url', baseUrl])
    expect([code, stderr]).toEqual([5, expect.stringContaining(problem)])
    expect(readdirSync(folder.path).filter(name => name.startsWith('other'))).toEqual([])
  })

  it('when a proxy returns records of another subject, writes nothing', async () => {
    const { id } = await owner.create({ subject_id: 'one' })
    await cover()
    const { text } = await service.call('GET', `/api/v1/consents?subject_id=one`, { key: owner.key })
    const baseUrl = await proxy({ 'subject_id=two': Buffer.from(text.replaceAll('"one"', '"two"')) })
    const args = ['evidence', '--subject', 'two', '--out', join(folder.path, 'two'), '--base-url', baseUrl]
    const { code, stderr } = await cli(args)
    expect([code, stderr]).toEqual([5, expect.stringContaining(`${id}: the archive is of another data subject`)])
    expect(readdirSync(folder.path).filter(name => name.startsWith('two'))).toEqual([])
  })

  it('states the record and the account when the pack is verified', async () => {
    const { id } = await owner.create()
    await cover()
    const { rows } = await verify(await write('named', id))
    expect(rows[0].detail).toContain(`of the record ${id} of the account ${owner.accountId}; all `)
  })
})

type Answers = Readonly<Record<string, Buffer>>

const proxies: Server[] = []
afterAll(() => {
  for (const server of proxies) server.close()
})

/** Answers with these bodies where a URL contains the name, else as the service. */
async function proxy(answers: Answers): Promise<string> {
  const server = createServer(async (request, response) => {
    const { url = '' } = request
    const { authorization = '' } = request.headers
    const answer = await fetch(service.url + url, { headers: { authorization } })
    const bytes = Buffer.from(await answer.arrayBuffer())
    const changed = Object.entries(answers).find(([name]) => url.includes(name))?.[1]
    response
      .writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
      .end(changed ?? bytes)
  })
  proxies.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The pack of a new record. */
async function archiveOf({ create, key }: Importer): Promise<Buffer> {
  const { id } = await create()
  await cover()
  const answer = await fetch(`${service.url}/api/v1/consents/${id}/evidence`, {
    headers: { authorization: `Bearer ${key}` },
  })
  expect(answer.status).toBe(200)
  return Buffer.from(await answer.arrayBuffer())
}

describe('an evidence pack', () => {
  const made: string[] = []
  const forged: string[] = []
  beforeAll(async () => {
    const ids = []
    for (let index = 0; index < packs; index += 1) ids.push(await newRecord(index))
    await cover()
    for (const [index, id] of ids.entries()) made.push(await write(`pack-${index}`, id))
  }, 600_000)

  it.skipIf(!hasVerifier)(`is accepted by the Python verifier (${packs})`, { timeout: 600_000 }, () => {
    expect(runVerifier(made)).toEqual({
      status: 0,
      lines: made.map(path => `${path}: evidence pack is valid`),
      stderr: '',
    })
  })

  it.skipIf(!hasVerifier)(
    `is rejected with any one byte of any file changed, by the program and in Python (${flips}, CONSENTCTL_TEST_SEED=${seed})`,
    { timeout: 3_600_000 },
    async () => {
      const random = randomFrom(seed)
      const below = (count: number) => Math.floor(random() * count)
      for (const path of made.slice(0, Math.ceil(packs / 20))) {
        const files = read(path)
        const names = [...files.keys()]
        const changed = Array.from({ length: flips }, (_, index) => {
          const name = names[index % names.length] ?? ''
          const bytes = Buffer.from(files.get(name) ?? '')
          const at = below(bytes.length)
          bytes[at] = (bytes[at] ?? 0) ^ (1 + below(255))
          return put(new Map(files).set(name, bytes))
        })
        for (const each of changed) expect((await verify(each)).code, each).toBe(5)
        const { status, lines, stderr } = runVerifier(changed)
        expect([status, stderr, lines.filter(line => !line.includes(': not valid: '))]).toEqual([1, '', []])
        expect(lines).toHaveLength(flips)
      }
    },
  )

  const json = (files: Files, name: string) => JSON.parse(String(files.get(name)))
  const edit = (files: Files, name: string, change: (value: ReturnType<typeof json>) => object) =>
    files.set(name, Buffer.from(JSON.stringify({ ...json(files, name), ...change(json(files, name)) })))

  const earlierOf = (files: Files) => [...files.keys()].find(name => /^checkpoints\/\d+\.json$/.test(name)) ?? ''
  const dropEarlier = (files: Files, name: string) => files.delete(name) && files.delete(consistencyOf(name))
  const copy = (files: Files, from: string, to: string) => files.set(to, files.get(from) ?? Buffer.of())

  /** The first entry is proved by a file of its own, in the same tree. */
  function cutWithdrawal(files: Files): void {
    const [first] = json(files, 'history.json').data
    const { accepted, preferences, policy_version, created_at: updated_at } = first
    files.delete('receipt.json')
    edit(files, 'history.json', () => ({ data: [first] }))
    edit(files, 'record.json', () => ({ accepted, preferences, policy_version, updated_at }))
    copy(files, 'record-first.inclusion.json', 'record.inclusion.json')
  }

  it.each<[what: string, forge: (files: Files) => unknown]>([
    ['another day', files => edit(files, 'record.json', () => ({ created_at: '2001-01-01T00:00:00.000Z' }))],
    ['another last change', files => edit(files, 'record.json', () => ({ updated_at: '2001-01-01T00:00:00.000Z' }))],
    ['another person', files => edit(files, 'record.json', () => ({ subject_id: 'eve' }))],
    ['another address', files => edit(files, 'history.json', () => ({ ip_network: '198.51.100.0/24' }))],
    ['another publication named', files => edit(files, 'history.json', () => ({ notice_entry: 1 }))],
    [
      'the end of the history cut off',
      files => edit(files, 'history.json', ({ data }) => ({ data: data.slice(0, -1) })),
    ],
    [
      'a proof of another leaf',
      files => edit(files, 'record.inclusion.json', proof => ({ leaf_index: proof.leaf_index + 1 })),
    ],
    [
      'a proof of another tree',
      files => edit(files, 'record-first.inclusion.json', proof => ({ tree_size: proof.tree_size + 1 })),
    ],
    [
      'a checkpoint of a stranger',
      files => files.set('checkpoint.json', Buffer.from(resigned(json(files, 'checkpoint.json')))),
    ],
    ['a receipt of a stranger', files => files.set('receipt.json', Buffer.from(resigned(json(files, 'receipt.json'))))],
    ['a receipt with another controller', changeController],
    ['a text in another wording', files => files.set('notice/de.md', Buffer.from('x'))],
    ['the notice left out', dropNotice],
    [
      'another language as the one that was shown',
      files => edit(files, 'record.json', () => ({ notice_locale: 'en' })),
    ],
    ['another list of texts', files => edit(files, 'notice.json', ({ after }) => ({ after: { ...after, texts: [] } }))],
    ['a setting changed by another one', changeSetting],
    ['a text that nobody published', files => files.set('notice/de.txt', Buffer.from('x'))],
    ['a proof of growth alone', files => files.set('checkpoints/99.consistency.json', Buffer.from('x'))],
    ['a proof of no entry', files => files.set('administration/99.inclusion.json', Buffer.from('x'))],
    ['a checkpoint in the place of the receipt', files => copy(files, 'checkpoint.json', 'receipt.json')],
    ['a receipt in the place of an earlier checkpoint', files => copy(files, 'receipt.json', earlierOf(files))],
    ['the checkpoint before left out', files => dropEarlier(files, earlierOf(files))],
    ['no receipt', files => files.delete('receipt.json')],
    ['the withdrawal and the receipt cut off', cutWithdrawal],
    [
      'a key without PEM',
      files =>
        edit(files, 'consent-keys.json', ({ keys }) => ({
          keys: [...keys, { ...keySetOf(stranger).keys[0], pem: undefined }],
        })),
    ],
    [
      'another key to verify by hand',
      files =>
        files.set([...files.keys()].find(name => name.startsWith('keys/')) ?? '', Buffer.from(publicPem(stranger))),
    ],
  ])('is rejected when it was rebuilt with %s', async (_what, forge) => {
    const files = read(made[1] ?? '')
    await forge(files)
    const path = put(reseal(files))
    const { code, wrong } = await verify(path)
    expect([code, wrong.length > 0]).toEqual([5, true])
    forged.push(path)
  })

  it.each<[what: string, forge: (files: Files) => unknown]>([
    [
      'another time of the answer',
      files => edit(files, 'record.json', () => ({ given_at: '2021-01-01T00:00:00.000Z' })),
    ],
    ['a signal', files => edit(files, 'record.json', () => ({ gpc: true }))],
    ['another origin', files => edit(files, 'record.json', ({ origin }) => ({ origin: { ...origin, id: 'other' } }))],
    [
      'another file',
      files =>
        edit(files, 'history.json', ({ data: [first, ...rest] }) => ({
          data: [{ ...first, file_sha256: 'f3'.repeat(32) }, ...rest],
        })),
    ],
    ['a receipt of another origin', files => changeOrigin(files, { id: 'other' })],
    [
      'a receipt of another time of the answer',
      files =>
        changeReceipt(files, ({ events: [first, ...rest] }) => ({
          events: [{ ...first, given_at: '2021-01-01T00:00:00.000Z' }, ...rest],
        })),
    ],
  ])('for an imported record, is rejected when it was rebuilt with %s', async (_what, forge) => {
    const files = read(made[4] ?? '')
    await forge(files)
    const path = put(reseal(files))
    const { code, wrong } = await verify(path)
    expect([code, wrong.length > 0]).toEqual([5, true])
    forged.push(path)
  })

  it('for an imported record, states what only the importer reported, and what is not proved', () => {
    const [imported, other] = [made[4] ?? '', made[1] ?? ''].map(path => read(path))
    const [readme, otherReadme] = [imported, other].map(files => String(files?.get('README.txt')).replace(/\s+/g, ' '))
    expect(readme).toContain('the service saw the import and nothing before it')
    const certificate = String(imported?.get('certificate.html'))
    expect(certificate).toContain('<td>1 January 2022, 00:00:00 UTC (reported)</td><td>answer imported</td>')
    expect(certificate).toContain('<li>that what the importer reported is true.</li>')
    expect(`${otherReadme}${other?.get('certificate.html')}`).not.toMatch(/import/i)
  })

  it('gets a verdict with arbitrary content in any file, as does the pack verified after it', async () => {
    const good = made[1] ?? ''
    const texts = ['', 'null', '[]', '{"keys": null}', '{"keys": [{"kty": "OKP", "crv": "Ed25519"}], "data": [null]}']
    for (const name of [...read(good).keys()].filter(each => /(json|pem)$/.test(each)))
      for (const text of texts) {
        const files = read(good).set(name, Buffer.from(text))
        const bad = put(name === 'pack.json' ? files : reseal(files))
        const { code, rows, stderr } = await verify(bad, good)
        expect([code, stderr.includes('bug')], `${name}: ${text}`).toEqual([5, false])
        const about = (path: string) => rows.filter(({ file }) => file.startsWith(`${path}/`))
        expect(about(bad).some(({ result }) => result === 'not_valid')).toBe(true)
        expect(about(good).every(({ result }) => result === 'valid')).toBe(true)
        rmSync(bad, { recursive: true })
      }
  })

  it('is rejected without stating what the service signed when a document of the service is invalid', async () => {
    const files = read(made[1] ?? '')
    files.set('receipt.json', Buffer.from(resigned(json(files, 'receipt.json'))))
    const { code, rows } = await verify(put(reseal(files)))
    expect([code, rows.map(({ type, result }) => [type, result])]).toEqual([
      5,
      [
        ['evidence_pack', 'valid'],
        ['consent_receipt', 'not_valid'],
      ],
    ])
  })

  it.skipIf(!hasVerifier)('is rejected in Python too when it was rebuilt', () => {
    const { status, lines, stderr } = runVerifier(forged)
    expect([status, stderr, lines.filter(line => !line.includes(': not valid: '))]).toEqual([1, '', []])
    expect(lines).toHaveLength(forged.length)
  })

  it('is rejected if the notice is in the log after the record, even if everything is signed', async () => {
    const [before, after] = [true, false].map(isFirst =>
      put(reseal(logAnew(read(made[2] ?? ''), isFirst), stranger)),
    ) as [string, string]
    await expectValid(before)
    const { code, wrong } = await verify(after)
    expect([code, wrong.map(({ detail }) => detail)]).toEqual([
      5,
      [expect.stringContaining('is behind the record in the log')],
    ])
    if (!hasVerifier) return
    expect(runVerifier([before, after]).lines).toEqual([
      `${before}: evidence pack is valid`,
      `${after}: not valid: its notice was published after the record was made`,
    ])
  })

  it('is accepted with separately obtained keys, and rejected with an unrelated key', async () => {
    const path = made[1] ?? ''
    const [keys, pem] = [join(folder.path, 'keys.json'), join(folder.path, 'stranger.pem')]
    writeFileSync(keys, read(path).get('consent-keys.json') ?? '')
    writeFileSync(pem, publicPem(stranger))
    const { code, rows, stderr } = await verify(path, '--keys', keys)
    expect([code, rows.find(({ type }) => type === 'checkpoint').detail]).toEqual([0, expect.stringContaining(keys)])
    expect(stderr).toBe('')
    const shown = await run(['verify', path], { env: { HOME: folder.path }, tty: { stdout: true }, columns: 200 })
    expect(shown.stdout).toContain('/checkpoint.json ')
    expect((await verify(path, '--public-key', pem)).code).toBe(5)
    const list = await verify(join(path, 'pack.json'), '--keys', keys)
    expect([list.code, list.rows[0].detail]).toEqual([0, expect.stringContaining('files are not compared')])
    expect(await cli(['verify', path, '--live'])).toMatchObject({ code: 0 })
  })

  it('states until when it contains all changes: the receipt’s signing time, unless the record was deleted', async () => {
    const { issued_at } = json(read(made[1] ?? ''), 'receipt.json')
    const ends = [`signed at ${issued_at} that they are all;`, 'they end as deleted; later changes, such as a restore,']
    for (const [index, path] of [made[1] ?? '', made[2] ?? ''].entries()) {
      const { rows } = await verify(path)
      expect(rows.find(({ type }) => type === 'history').detail).toContain(ends[index])
      for (const { detail } of rows.filter(({ type }) => ['history', 'evidence_pack'].includes(type)))
        expect(detail).toMatch(/later changes,? .*are not known$/)
    }
  })
})

const stranger = newSigningKey()

function resigned({ signature: _, ...document }: { signature: string }): string {
  return signDocument({ ...document, key_id: keyIdOf(stranger) } as never, stranger)
}

/** The service itself would have to sign this. */
function reseal(files: Files, key = own): Files {
  const { signature: _, ...pack } = JSON.parse(String(files.get('pack.json')))
  const list = { ...pack, files: listFiles(files), key_id: keyIdOf(key) }
  return files.set('pack.json', Buffer.from(signDocument(list, key)))
}

const proofOf = (name: string) => name.replace(/json$/, 'inclusion.json')

function dropNotice(files: Files): void {
  for (const name of [...files.keys()]) if (/^notice[./]/.test(name)) files.delete(name)
}

/** The service itself would have to sign this. */
async function changeReceipt(files: Files, change: (receipt: ReturnType<typeof JSON.parse>) => object): Promise<void> {
  const { signature: _, key_id: __, ...receipt } = JSON.parse(String(files.get('receipt.json')))
  const signer = await openSigner(service.sql, null)
  files.set('receipt.json', Buffer.from(await signer.sign({ ...receipt, ...change(receipt) })))
}

function changeController(files: Files): Promise<void> {
  return changeReceipt(files, ({ privacy_notice }) => ({ privacy_notice: { ...privacy_notice, controller: 'Eve' } }))
}

function changeOrigin(files: Files, changes: { readonly id: string }): Promise<void> {
  return changeReceipt(files, ({ origin }) => {
    const changed = { ...origin, ...changes }
    return { origin: { ...changed, statement: describeOrigin(changed) } }
  })
}

function changeSetting(files: Files): void {
  const name = [...files.keys()].find(each => /^administration\/\d+\.json$/.test(each)) ?? ''
  files.set(name, Buffer.from(String(files.get(name)).replace(/"at": ?"20/, '"at": "19')))
}

/** A pack whose log a stranger made and signed: the history, and the notice before or after it. */
function logAnew(files: Files, isNoticeFirst: boolean): Files {
  for (const name of [...files.keys()])
    if (/^(administration|keys|checkpoints)\/|tlog|^receipt|^record-\d/.test(name)) files.delete(name)
  const read = (name: string) => JSON.parse(String(files.get(name)))
  const history = read('history.json').data.map(({ hash }: { hash: string }) => Buffer.from(hash, 'hex'))
  const notice = createHash('sha256')
    .update(files.get('notice.json') ?? '')
    .digest()
  const leaves: Buffer[] = isNoticeFirst ? [notice, ...history] : [...history, notice]
  const rootOf = ({ from, to }: { from: number; to: number }) => {
    const tree = new MerkleTree()
    for (const leaf of leaves.slice(from, to)) tree.append(leaf)
    return tree.root.toString('hex')
  }
  const tree_size = leaves.length
  const root_hash = rootOf({ from: 0, to: tree_size })
  const { signature: _, ...checkpoint } = read('checkpoint.json')
  const log = { ...checkpoint, tree_size, root_hash, previous_size: 0, key_id: keyIdOf(stranger) }
  files.set('checkpoint.json', Buffer.from(signDocument(log, stranger)))
  const proved = { 'notice.json': notice, 'record.json': history.at(-1), 'record-first.json': history[0] }
  for (const [name, hash] of Object.entries(proved)) {
    const leaf_index = leaves.indexOf(hash)
    const path = inclusionRanges(leaf_index, tree_size).map(rootOf)
    const leaf_hash = leafHash(hash).toString('hex')
    const proof = { ...read(proofOf(name)), leaf_index, leaf_hash, tree_size, root_hash, path }
    files.set(proofOf(name), Buffer.from(JSON.stringify(proof)))
  }
  files.set('consent-keys.json', Buffer.from(JSON.stringify(keySetOf(stranger))))
  return files.set(`keys/${keyIdOf(stranger)}.pem`, Buffer.from(publicPem(stranger)))
}
