import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describePack } from '../../../server/packs/describe.ts'
import { type ConsentReceipt, stateTerms, statusOf } from '../../../src/contract/documents/consent-receipt.ts'
import type { AuditEntry } from '../../../src/contract/index.ts'
import { languages } from '../../../src/evidence/certificate-texts.ts'
import { keyIdOf } from '../../../src/evidence/keys.ts'
import { readPack } from '../../../src/evidence/pack.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { consentOf } from '../../../src/evidence/state.ts'
import { randomFrom } from '../../e2e/campaign.ts'
import { type Browser, browserPath, openBrowser } from '../../support/browser.ts'
import { hasVerifier, runVerifier } from '../../support/verifier.ts'
import { receiptOf } from '../signed-consent-receipt.ts'
import { circumstancesOf, historyWith, id } from './chains.ts'
import { eventsOf, examplePack, purposesOf, serviceKey } from './examples.ts'
import { type Below, newHistory, preferences } from './histories.ts'

/** Certificates of random histories, and a program in Python that was written from certificate.md and reads them back. */

const histories = Number(process.env['CONSENTCTL_TEST_HISTORIES'] ?? 500)
const seed = Number(process.env['CONSENTCTL_TEST_SEED'] ?? Date.now() % 1_000_000_000)

const site = '01939d2c-7b1a-7c3e-9a51-000000000abc'
const account = '01939d2c-0000-7000-8000-00000000000a'
const user = '01939d2c-0000-7000-8000-00000000000c'
const digest = 'ab'.repeat(32)

type Files = Map<string, Buffer>

const json = (value: unknown) => Buffer.from(JSON.stringify(value))

/** A pack whose proofs and hashes are not made: certificates do not go by them. */
function newPack(below: Below, states: readonly Record<string, unknown>[]): Files {
  const pick = <T>(values: readonly T[]) => values[below(values.length)] as T
  const data = newHistory(below, states)
  const [first, last] = [data[0], data.at(-1)] as [AuditEntry, AuditEntry]
  const isPurged = last.action === 'purged'
  const isDeleted = last.action === 'deleted' || isPurged
  const notice = below(3) > 0 ? newNotice(pick, data) : null
  const locale = below(2) > 0 ? pick([...languages, 'de-AT', 'sv', 'zh']) : undefined
  const record = {
    ...{ id, site_id: site, country: null, region: null, user_agent: null },
    consent_id: pick([null, 'newsletter']),
    subject_id: isPurged ? null : pick([null, 'maria@example.com', hostile, 'x'.repeat(255)]),
    ...{ accepted: last.accepted, preferences: last.preferences, policy_version: 3 },
    ...{ created_at: first.created_at, updated_at: last.created_at },
    deleted_at: isDeleted ? (data.findLast(({ action }) => action === 'deleted')?.created_at ?? null) : null,
    ...(locale !== undefined && { notice_locale: locale }),
    ...(first.action === 'imported' && {
      origin: { system: pick(['old-banner', hostile]), id: '4711', evidence: null },
    }),
    ...(data.some(({ gpc }) => gpc) && { gpc: true as const }),
  }
  const log = (tree_size: number, previous_size: number, created_at: string) => {
    const sides = { tree_size, root_hash: digest, previous_size, keys_size: 1, keys_root: digest }
    const document = { type: 'checkpoint', version: 1, account_id: account, ...sides, created_at }
    return signDocument({ ...document, key_id: keyIdOf(serviceKey) } as never, serviceKey)
  }
  const proofOf = (version: number, leaf_index: number) =>
    json({ record_id: id, version, leaf_index, leaf_hash: digest, tree_size: 9, root_hash: digest, path: [] })
  const files: Files = new Map([
    ['record.json', json(record)],
    ['history.json', json({ data, notice_entry: notice ? 4 : null })],
    ['consent-keys.json', Buffer.from(examplePack.get('consent-keys.json') ?? '')],
    ['checkpoint.json', Buffer.from(log(9, pick([0, 4]), '2026-02-01T12:00:00.000Z'))],
    ['record.inclusion.json', proofOf(data.length, pick([2, 6]))],
    ['record-first.inclusion.json', proofOf(1, 1)],
    ['checkpoints/4.json', Buffer.from(log(4, 0, '2026-01-31T12:00:00.999Z'))],
    ['checkpoints/4.consistency.json', json({ first: 4, second: 9, path: [] })],
    ...(below(4) === 0 ? [['checkpoint.tsr', Buffer.of(0)] as const] : []),
  ])
  if (notice) {
    files.set('notice.json', json(entryOf(4, 'notice', site, notice.manifest)))
    files.set('notice.inclusion.json', proofOf(4, 0))
    for (const [name, content] of notice.texts) files.set(name, content)
  }
  for (const [index, entry] of administrators(pick).entries()) {
    files.set(`administration/${index + 5}.json`, json({ ...entry, version: index + 5 }))
    files.set(`administration/${index + 5}.inclusion.json`, proofOf(index + 5, 1))
  }
  if (!isDeleted) files.set('receipt.json', newReceipt({ pick, data, record, notice }))
  return described(files, last.sealed?.answers ? pick(['maria@example.com', hostile]) : undefined)
}

function described(files: Files, subject_id?: string): Files {
  const created_at = '2026-02-03T08:00:00.123Z'
  const shown = subject_id !== undefined && { presented: { subject_id, matched_at: '2026-02-03T07:59:59.123Z' } }
  files.set('pack.json', json({ created_at, key_id: keyIdOf(serviceKey), ...shown }))
  const sealing = { created_at, keyId: keyIdOf(serviceKey), isTruncated: false, ...shown }
  for (const [name, text] of describePack(readPack(files), sealing)) files.set(name, Buffer.from(text))
  return files
}

type Pick = <T>(values: readonly T[]) => T

const hostile = '</td><script>alert(1)</script>\n\u202e&amp;"\'\u{e0041}'

function entryOf(version: number, kind: string, target: string, after: unknown) {
  const actor = { kind: 'user', id: user }
  const about = { action: 'changed', target: { kind, id: target }, before: null, after, nonce: '' }
  return {
    type: 'account_entry',
    version,
    account_id: account,
    previous: digest,
    at: '2025-12-30T15:00:00.000Z',
    actor,
    ...about,
  }
}

/** Names of the site, the key and the user, some later than the record. */
function administrators(pick: Pick) {
  const named = (kind: string, target: string, after: object) => ({
    ...entryOf(5, kind, target, after),
    at: pick(['2025-12-30T15:00:00.000Z', '2027-01-01T00:00:00.000Z']),
  })
  const all = [
    named('site', site, { name: pick(['Shop', hostile]) }),
    named('site', site, { allowed_origins: [] }),
    named('api_key', id, { name: pick(['backend', hostile]) }),
    named('user', user, { email: 'jo@example.com' }),
  ]
  return all.filter(() => pick([true, true, false]))
}

function newNotice(pick: Pick, data: readonly AuditEntry[]) {
  const keys = new Set(data.flatMap(({ preferences }) => Object.keys(preferences ?? {})))
  for (let index = pick([0, 0, 1, 14]); index > 0; index -= 1) keys.add(`purpose ${index}`)
  const purposes = [...keys]
    .filter(() => pick([true, false]))
    .flatMap(key =>
      [null, ...languages]
        .filter(() => pick([true, false, false]))
        .map(language => ({ key, title: `${hostile} ${language}`, language, iri: null })),
    )
  const media = [
    ['text/plain', 'txt'],
    ['text/markdown', 'md'],
    ['text/html', 'html.txt'],
    ['application/pdf', 'pdf'],
  ] as const
  const texts = [...new Set([1, 2, 3].slice(pick([0, 1, 2, 3])).map(() => pick([...languages, 'de-AT', 'sv'])))].map(
    language => {
      const [media_type, extension] = pick(media)
      const content = Buffer.from(
        pick(['Wir senden Werbung.\r\n\r\n\r\nOft.', hostile, 'Zeile\n'.repeat(60), 'x '.repeat(5000)]),
      )
      return { language, media_type, content, file: `notice/${language}.${extension}` }
    },
  )
  const listed = texts.map(({ language, media_type, content }) => ({
    language,
    media_type,
    size: content.length,
    sha256: digest,
  }))
  const controller = pick([null, 'Example GmbH, Berlin', hostile.repeat(9)])
  const rest = { valid_for: 'P1Y', requires_renewal: false, effective_from: null }
  const manifest = { site_id: site, policy_version: 3, texts: listed, purposes, controller, ...rest }
  return { manifest, texts: texts.map(({ file, content }) => [file, content] as const) }
}

interface About {
  readonly pick: Pick
  readonly data: readonly AuditEntry[]
  readonly record: { readonly subject_id: string | null }
  readonly notice: ReturnType<typeof newNotice> | null
}

function newReceipt({ pick, data, record, notice }: About): Buffer {
  const named = (notice?.manifest.purposes ?? []).map(({ key }) => key)
  const dates = {
    issued_at: '2026-02-02T09:29:59.999Z',
    expires_at: pick([null, '2026-02-02T00:00:00.000Z', '2027-02-01T09:30:00.000Z']),
  }
  const state = stateTerms[consentOf(data, named).events.at(-1)?.state ?? 'refused']
  const purposes = purposesOf(data, named)
  const newer = (purposes.length === 0 ? [null] : purposes.map(({ purpose }) => purpose))
    .filter(() => pick([true, false]))
    .map(purpose => ({
      ...{ purpose, record_id: pick([user, account, site]), answered_at: '2026-02-01T00:00:00.000Z' },
      state: pick([null, 'given', 'partly', 'refused', 'withdrawn', 'not_answered', 'expired'] as const),
    }))
  const compared =
    record.subject_id === null
      ? { compared_records: null, newer_answers: [] }
      : pick([
          { compared_records: pick([null, 1, 1000]), newer_answers: [] },
          { compared_records: 4, newer_answers: newer },
        ])
  const receipt: ConsentReceipt = receiptOf({
    ...dates,
    pii_principal_id: record.subject_id,
    consent_status: statusOf(state, dates),
    events: eventsOf(data, named),
    purposes,
    ...compared,
    key_id: keyIdOf(serviceKey),
  })
  return Buffer.from(signDocument(receipt, serviceKey))
}

function readBack(packs: readonly Files[]): string[] {
  const lines = packs.map(files =>
    JSON.stringify(Object.fromEntries([...files].map(([name, bytes]) => [name, bytes.toString('base64')]))),
  )
  const { lines: said, stderr } = runVerifier([], { script: 'certificate.py', input: `${lines.join('\n')}\n` })
  expect(stderr).toBe('')
  return said
}

/** Packs have exact numbers. */
function withIntegers(state: object): object {
  const toInteger = (_: string, value: unknown) => (typeof value === 'number' ? Math.trunc(value % 1000) : value)
  return JSON.parse(JSON.stringify(state, toInteger))
}

function makePacks(count: number): Files[] {
  const random = randomFrom(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const states = fc.sample(preferences, { numRuns: count * 3, seed }).map((state, index) => ({
    ...withIntegers(state),
    ...(index % 2 === 0 && { marketing: below(2) === 0 }),
    ...(index % 3 === 0 && { analytics: below(2) === 0 }),
  }))
  return Array.from({ length: count }, () => newPack(below, states))
}

/** As long as its documents can make it, in the language of its text. */
function longestPack(language: string): Files {
  const words = 'Beispielwort '.repeat(19)
  const newerStates = ['given', 'refused', 'withdrawn', 'not_answered', 'expired', null]
  const keys = Array.from({ length: 16 + 4 * newerStates.length }, (_, index) => `${index} ${words}`)
  const isLong = (each: Files) =>
    each.has('receipt.json') &&
    each.has('notice.json') &&
    String(each.get('checkpoint.json')).includes('"previous_size": 4')
  const files = makePacks(80).find(isLong) as Files
  const change = (name: string, changed: (document: ReturnType<typeof JSON.parse>) => object) => {
    const document = JSON.parse(String(files.get(name)))
    files.set(name, json({ ...document, ...changed(document) }))
  }
  const updates = Array.from({ length: 7 }, () => 'updated' as const)
  const actions = ['imported', 'imported', ...updates, 'deleted', 'restored_despite_erasure'] as const
  const actors = [
    { kind: 'api_key', id },
    { kind: 'user', id: user },
  ] as const
  /** Four purposes are given at the end, four withdrawn, four refused, and the rest not answered. */
  const isGiven = (purpose: number, index: number) => purpose < 8 && (index < 2 || (index % 2 === 0 && purpose < 4))
  const answered = keys.slice(0, 12)
  const data = historyWith(
    actions,
    index => Object.fromEntries(answered.map((key, purpose) => [key, isGiven(purpose, index)])),
    index => actors[index % 2] ?? actors[0],
  )
  const circumstances = { ...circumstancesOf(0), ...{ channel: words, form: words, relation: words, reference: words } }
  const told = data.map((entry, index) => (index > 1 ? { ...entry, gpc: true, circumstances } : entry))
  change('history.json', () => ({ data: told }))
  change('record.json', () => ({
    ...{ subject_id: words, consent_id: words, gpc: true, notice_locale: language },
    origin: { system: words, id: '4711', evidence: null },
  }))
  const purposes = keys.map(key => ({ key, title: words, language, iri: null }))
  change('record.inclusion.json', () => ({ version: data.length, leaf_index: 6 }))
  const text = { language, media_type: 'text/plain', size: 1, sha256: digest }
  change('notice.json', ({ after }) => ({
    at: '2026-01-31T09:29:30.000Z',
    after: { ...after, purposes, texts: [text], controller: words },
  }))
  files.set(`notice/${language}.txt`, Buffer.from(words.repeat(2000)))
  const names = [
    ['site', site, 'name'],
    ['api_key', id, 'name'],
    ['user', user, 'email'],
  ] as const
  for (const [index, [kind, target, member]] of names.entries()) {
    files.set(`administration/${index + 5}.json`, json(entryOf(index + 5, kind, target, { [member]: words })))
    files.set(`administration/${index + 5}.inclusion.json`, files.get('record.inclusion.json') ?? Buffer.of())
  }
  files.set('checkpoint.tsr', Buffer.of(0))
  const newer_answers = keys.slice(16).map((purpose, index) => ({
    ...{ purpose, record_id: [user, account, site][index % 3], answered_at: '2026-02-01T00:00:00.000Z' },
    state: newerStates[Math.floor(index / 4)],
  }))
  const { signature: _, ...receipt } = JSON.parse(String(files.get('receipt.json')))
  files.set(
    'receipt.json',
    Buffer.from(
      signDocument(
        {
          ...receipt,
          compared_records: 1000,
          newer_answers,
          expires_at: '2026-02-02T00:00:00.000Z',
          consent_status: 'dpv:ConsentExpired',
        },
        serviceKey,
      ),
    ),
  )
  return described(files)
}

/** Changes of a document, after which its certificate says something else. */
const changes: readonly (readonly [file: string, pattern: RegExp, other: string])[] = [
  ['record.json', /"site_id":"\w/, '"site_id":"f'],
  ['history.json', /"created_at":"2026-01-31T09:30:00/g, '"created_at":"2026-01-31T09:31:00'],
  ['history.json', /"hash":"[\da-f]{2}/g, '"hash":"zz'],
  ['checkpoint.json', /"created_at": "2026-02-01|"root_hash": "ab/, '"root_hash": "ac'],
  ['pack.json', /08:00:00/, '08:00:01'],
  ['receipt.json', /"issued_at": "2026/, '"issued_at": "2027'],
  ['notice.json', /"at":"2025/, '"at":"2024'],
]

describe.skipIf(!hasVerifier)('a certificate', () => {
  it(`says what the documents say, for ${histories} histories in all languages (CONSENTCTL_TEST_SEED=${seed})`, {
    timeout: 600_000,
  }, () => {
    const packs = makePacks(histories)
    expect(readBack(packs).flatMap((line, index) => (line === 'ok' ? [] : [{ index, line }]))).toEqual([])
    const pages = packs.map(files => String(files.get('certificate.html')))
    expect(new Set(pages.map(page => /lang="(\w+)"/.exec(page)?.[1]))).toEqual(new Set(languages))
    expect(pages.filter(page => /<script|\u202e|\u{e0041}/u.test(page))).toEqual([])
  })

  it('is found to differ if a document or a sentence was changed after it was made', { timeout: 600_000 }, () => {
    const changed = makePacks(60).flatMap(files => [
      ...changes.flatMap(([file, pattern, other]): Files[] => {
        const text = String(files.get(file) ?? '')
        return pattern.test(text) ? [new Map(files).set(file, Buffer.from(text.replace(pattern, other)))] : []
      }),
      ...['2026', '<td>', '</li>'].map(word => {
        const page = String(files.get('certificate.html'))
        const at = page.lastIndexOf(word)
        return new Map(files).set('certificate.html', Buffer.from(`${page.slice(0, at)}x${page.slice(at)}`))
      }),
    ])
    expect(readBack(changed).filter(line => line === 'ok')).toEqual([])
  })
})

describe.skipIf(!browserPath)('a printed certificate', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser.close())

  it.each(languages)('in %s has at most two pages, whatever its documents say', async language => {
    const page = await browser.context.newPage()
    try {
      await page.setContent(String(longestPack(language).get('certificate.html')))
      expect(await page.locator('html').getAttribute('lang')).toBe(language)
      const pdf = await page.pdf({ preferCSSPageSize: true })
      expect(pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length).toBeLessThanOrEqual(2)
    } finally {
      await page.close()
    }
  })
})
