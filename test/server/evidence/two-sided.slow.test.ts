import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Sql } from 'postgres'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { findSecret } from '../../../server/db/secrets.ts'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { Collection } from '../../../server/packs/pack.ts'
import { createQuery } from '../../../server/timestamps/openssl.ts'
import { insertTimestamp } from '../../../server/timestamps/queries.ts'
import { signingKeyOf } from '../../../src/evidence/keys.ts'
import { listFiles } from '../../../src/evidence/pack.ts'
import { hasOpenssl, useAuthority } from '../../support/authority.ts'
import { run, useFolder } from '../../support/cli.ts'
import { statementOf } from '../../support/key-statements.ts'
import { useService } from '../../support/service.ts'
import { hasVerifier, runVerifier } from '../../support/verifier.ts'
import { type Importer, newImporter } from '../consents/imports.ts'
import { insertChains } from '../purge/chains.ts'
import { purgeNow } from '../purge/purge.ts'

class WithoutReceipt extends Collection {
  protected override async addReceipt() {}
}

/** Packs, of which a fifth is of back-dated records. */
const packs = Number(process.env['CONSENTCTL_TEST_DATED_PACKS'] ?? 30)

const now = Date.now() // before the clock is moved
const ago = (days: number) => new Date(now - days * 24 * 60 * 60 * 1000)
const setClock = (at: Date) => vi.useFakeTimers({ toFake: ['Date'], now: at })
afterEach(() => void vi.useRealTimers())

const service = useService()
const folder = useFolder()
const tsa = useAuthority()

async function cover(): Promise<void> {
  await coverAll({ sql: service.sql, signer: await openSigner(service.sql, null) })
}

const cli = (owner: Importer, args: string[]) =>
  run(args, { env: { HOME: folder.path, CONSENTCTL_BASE_URL: service.url, CONSENTCTL_API_KEY: owner.key } })

/** Verifies offline. Returns what is wrong with each pack. */
async function verify(paths: readonly string[]): Promise<Map<string, string[]>> {
  const { stdout, stderr } = await run(['verify', ...paths, '-o', 'ndjson'], { env: { HOME: folder.path } })
  const wrong = new Map(paths.map(path => [path, [] as string[]]))
  expect(stdout, stderr).not.toBe('')
  for (const line of stdout.trimEnd().split('\n')) {
    const { file, result, detail } = JSON.parse(line)
    if (result !== 'valid') wrong.get(paths.find(path => file.startsWith(`${path}/`)) ?? '')?.push(detail)
  }
  return wrong
}

describe.skipIf(!hasOpenssl).each([
  ['without timestamps', false],
  ['with timestamps', true],
])('evidence packs %s', (name, isStamped) => {
  const count = packs / 2
  const forgedCount = Math.ceil(count / 5)
  const honest: string[] = []
  const forged: string[] = []
  const forgedIds: string[] = []
  let sql: Sql
  let owner: Importer
  beforeAll(async () => {
    sql = service.sql
    await sql`truncate accounts, checkpoints, log_entries, key_statements cascade`
    const key = signingKeyOf((await findSecret(sql, 'signing')) ?? Buffer.alloc(0))
    const statement = statementOf(key, key, { not_before: ago(500).toISOString() })
    await sql`insert into key_statements (position, document) values (0, ${statement})`
    await openSigner(sql, null)
    owner = await newImporter(service)
    await write()
  }, 1_800_000)
  /** Lets 40 days pass with a checkpoint every 4 days, and at the end inserts what is dated back. */
  async function write(): Promise<void> {
    const ids: string[] = []
    const later: string[] = []
    for (let day = 40; day > 0; day -= 4) {
      setClock(ago(day))
      for (const [index, id] of ids.entries())
        if ((index + day) % 3 === 0) await owner.update(id, { accepted: day % 8 === 0 })
      while (ids.length < ((count - forgedCount) * (44 - day)) / 40) {
        const index = ids.length
        ids.push(
          index % 4 === 3 ? await owner.importOne({}) : (await owner.create({ subject_id: `${name} ${index}` })).id,
        )
        if (index % 5 === 0) for (const accepted of [true, false]) await owner.update(ids.at(-1) ?? '', { accepted })
      }
      while (day === 36 && later.length < forgedCount / 3) later.push((await owner.create({ accepted: true })).id)
      if (day % 8 === 0) await cover() // some entries wait for the next one
    }
    setClock(ago(0.2))
    for (const [index, id] of ids.entries()) if (index % 6 === 5) await owner.remove(id)
    await cover()
    setClock(ago(20)) // a change between two others
    for (const id of later) await owner.update(id, { accepted: false })
    vi.useRealTimers()
    for (const id of later) await owner.remove(id)
    const shape = { entries: 2, at: ago(400) }
    const half = Math.floor((forgedCount - later.length) / 2)
    forgedIds.push(...later, ...(await insertChains(sql, owner, { ...shape, records: half })))
    await cover()
    await purgeNow(sql)
    await owner.create()
    const left = forgedCount - forgedIds.length
    forgedIds.push(...(await insertChains(sql, owner, { ...shape, records: left, isLive: true })))
    await cover()
    if (isStamped) await stampAll()
    for (const [index, id] of ids.entries()) {
      const path = join(folder.path, `${isStamped}-honest-${index}`)
      expect(await cli(owner, ['evidence', id, '--out', path])).toMatchObject({ code: 0 })
      honest.push(path)
    }
    for (const id of forgedIds) forged.push(await packForged(id))
  }

  async function stampAll(): Promise<void> {
    const rows = await sql<{ account_id: string; tree_size: number; document: string }[]>`
      select account_id, tree_size::float8 as tree_size, document from checkpoints`
    for (const row of rows) {
      const query = await createQuery(createHash('sha256').update(row.document).digest())
      await insertTimestamp(sql, row, tsa.authority.reply(query))
    }
  }

  /** What the service refuses to seal: without a receipt, and signed with its key nevertheless. */
  async function packForged(id: string, change: (files: Map<string, Buffer>) => void = () => {}) {
    const signer = await openSigner(sql, null)
    const reads = {
      run: async (_: string, id: string, load: (ids: string[]) => Promise<unknown[]>) => (await load([id]))[0],
    }
    const caller = { accountId: owner.accountId, siteIds: null, kind: 'user', id: owner.userId } as const
    const files = (await new WithoutReceipt({ sql, signer, reads } as never, caller, id).read())?.files ?? new Map()
    for (const name of ['certificate.html', 'README.txt', 'verify.sh']) files.set(name, Buffer.from('x'))
    change(files)
    const about = { account_id: owner.accountId, record_id: id, created_at: new Date().toISOString() }
    const list = { type: 'evidence_pack', version: 1, ...about, files: listFiles(files) }
    files.set('pack.json', Buffer.from(await signer.sign(list)))
    const path = join(folder.path, `${isStamped}-forged-${forged.length}-${copies++}`)
    for (const [file, bytes] of files) {
      mkdirSync(dirname(join(path, file)), { recursive: true })
      writeFileSync(join(path, file), bytes)
    }
    return path
  }
  let copies = 0

  it(`${packs / 2} packs: the honest ones are valid offline, the backdated ones are not`, {
    timeout: 600_000,
  }, async () => {
    const wrong = await verify([...honest, ...forged])
    expect([honest.length, forged.length]).toEqual([count - forgedCount, forgedCount])
    expect(honest.flatMap(path => wrong.get(path) ?? [])).toEqual([])
    const isNamed = forged.map(path => wrong.get(path)?.some(each => each.includes('was made without it')))
    expect(isNamed).toEqual(forged.map(() => true))
  })

  it.skipIf(!hasVerifier)('have the same verdicts in Python', { timeout: 600_000 }, () => {
    const expected = [
      ...honest.map(path => `${path}: evidence pack is valid`),
      ...forged.map(path => expect.stringMatching(new RegExp(`^${path}: not valid: .*(made without it|cut off)`))),
    ]
    expect(runVerifier([...honest, ...forged]).lines).toEqual(expected)
  })

  it('are not written for a backdated record', { timeout: 600_000 }, async () => {
    for (const id of forgedIds) {
      const { code, stderr } = await cli(owner, ['evidence', id, '--out', join(folder.path, 'refused')])
      expect(code, stderr).not.toBe(0)
      expect(stderr).toContain('was made without it')
    }
    expect(readdirSync(folder.path).filter(each => each.startsWith('refused'))).toEqual([])
  })

  it('are not made valid by a wider choice of checkpoints', async () => {
    const [id = ''] = forgedIds
    const sizesOf = (files: ReadonlyMap<string, unknown>) =>
      [...files.keys()]
        .flatMap(file => /^checkpoints\/(\d+)\.json$/.exec(file)?.[1] ?? [])
        .sort((a, b) => Number(a) - Number(b))
    const drop = (files: Map<string, Buffer>, size = '') => {
      for (const end of ['json', 'consistency.json', 'tsr']) files.delete(`checkpoints/${size}.${end}`)
    }
    const paths: string[] = []
    const whole = new Set<string>()
    await packForged(id, files => {
      for (const size of sizesOf(files)) whole.add(size)
    })
    for (const size of whole) paths.push(await packForged(id, files => drop(files, size)))
    const dropAll = (files: Map<string, Buffer>) => {
      for (const size of whole) drop(files, size)
    }
    paths.push(await packForged(id, dropAll))
    for (const wrong of (await verify(paths)).values()) expect(wrong).not.toEqual([])
    if (!hasVerifier) return
    for (const line of runVerifier(paths).lines) expect(line).toContain(': not valid: ')
  })

  it('state when the log did not have an entry, and when it did', async () => {
    const [path = ''] = honest
    const { stdout } = await run(['verify', path, '-o', 'json'], { env: { HOME: folder.path } })
    const instant = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`
    const { detail } = JSON.parse(stdout).find(({ file }: { file: string }) => file.endsWith('record.inclusion.json'))
    expect(detail).toMatch(new RegExp(`; dated ${instant}; not in the log at ${instant}, in it at ${instant}`))
    expect(readFileSync(join(path, 'certificate.html'), 'utf8')).toMatch(
      /<li>The last event \(number \d+: [^)]+\) came into the log after \d.* UTC, and no later than \d.* UTC: the log signed at the first time does not have it, .*<\/li>/,
    )
  })

  it.runIf(isStamped)('contain the timestamps of the checkpoints, which openssl verifies', () => {
    const [path = ''] = honest
    const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter(each =>
      /checkpoint.*\d\.json$/.test(each),
    )
    expect(names.length).toBeGreaterThan(1)
    for (const each of names) {
      const [data, token] = [join(path, each), join(path, each.replace(/json$/, 'tsr'))]
      const args = ['ts', '-verify', '-data', data, '-in', token, '-CAfile', tsa.authority.caFile]
      expect(spawnSync('openssl', args).status, each).toBe(0)
    }
    const { inclusion } = JSON.parse(readFileSync(join(path, 'receipt.json'), 'utf8'))
    for (const { checkpoint, timestamp } of [inclusion, inclusion.previous]) {
      const [data, token] = [join(folder.path, 'data'), join(folder.path, 'token')]
      writeFileSync(data, checkpoint)
      writeFileSync(token, Buffer.from(timestamp, 'base64'))
      const args = ['ts', '-verify', '-data', data, '-in', token, '-CAfile', tsa.authority.caFile]
      expect(spawnSync('openssl', args).status).toBe(0)
    }
  })
})
