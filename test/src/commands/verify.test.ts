import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { beforeEach, describe, expect, it } from 'vitest'
import { describeOrigin } from '../../../src/contract/origin.ts'
import { keyIdOf, newSigningKey, privatePem, publicPem, signingKeyOf } from '../../../src/evidence/keys.ts'
import { leafHash } from '../../../src/evidence/merkle.ts'
import { rootOfInclusion } from '../../../src/evidence/proofs.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { run, useFolder } from '../../support/cli.ts'
import { schemaProblems } from '../../support/document-schema.ts'
import { revocationOf, statementOf } from '../../support/key-statements.ts'
import { keySetOf, receiptOf, serviceKey, signedReceipt } from '../signed-consent-receipt.ts'
import {
  answers,
  dangerous,
  expectExit,
  expectNoStdout,
  fails,
  machineError,
  screen,
  useCli,
  uuid,
} from '../support.ts'

const cli = useCli()
const folder = useFolder()
const text = signedReceipt()
const other = signingKeyOf(Buffer.alloc(32, 6))
const keyId = keyIdOf(serviceKey)

const put = (name: string, content: string | Buffer) => {
  const file = join(folder.path, name)
  writeFileSync(file, content)
  return file
}
const keysPath = '*/.well-known/consent-keys.json'
let keys: string
let pem: string
beforeEach(() => {
  keys = put('consent-keys.json', JSON.stringify(keySetOf(other, serviceKey)))
  pem = put('key.pem', publicPem(serviceKey))
})

/** The verdict on a file's content, without any network. */
async function verdict(content: string | Buffer, flags = ['--keys', keys]) {
  const { code, stdout, stderr } = await run(['verify', put('a.json', content), ...flags, '--json'])
  expect(stderr).toBe('')
  const row = JSON.parse(stdout)
  expect(code).toBe(row.result === 'valid' ? 0 : 5)
  return row
}

/** Expects a file not to be valid, and why. */
async function expectNotValid(content: string | Buffer, why: RegExp, flags?: string[]) {
  const row = await verdict(content, flags)
  expect(row).toMatchObject({ result: 'not_valid', signed_by: null, issued_at: null })
  expect(row.detail).toMatch(why)
}

describe('a file of several documents', () => {
  const rows = async (content: string) => {
    const { code, stdout } = await run(['verify', put('all.txt', content), '--keys', keys, '--json'])
    return { code, rows: JSON.parse(stdout) as { file: string; result: string }[] }
  }

  it('is verified document by document, each with its number', async () => {
    const { code, rows: found } = await rows(text + text)
    expect(code).toBe(0)
    expect(found.map(({ file, result }) => [file.slice(-9), result])).toEqual([
      ['all.txt#1', 'valid'],
      ['all.txt#2', 'valid'],
    ])
  })

  it('is not valid if one of them is changed', async () => {
    const { code, rows: found } = await rows(text + text.replace('DE', 'AT'))
    expect([code, ...found.map(({ result }) => result)]).toEqual([5, 'valid', 'not_valid'])
  })

  it('is not valid as a whole if it contains anything else', async () => {
    await expectNotValid(`${text}\n${text}`, /was changed|no signature|not JSON|not valid JSON/)
  })
})

describe('a receipt in its signed form', () => {
  it.each<[what: string, flags: () => string[], source: string]>([
    ['a set of keys', () => ['--keys', keys], 'consent-keys.json'],
    ['the key in PEM', () => ['--public-key', pem], 'key.pem'],
    ['one of several', () => ['--public-key', put('other.pem', publicPem(other)), '--public-key', pem], 'key.pem'],
    [
      'one of two sets',
      () => ['--keys', put('stranger.json', JSON.stringify(keySetOf(other))), '--keys', keys],
      'consent-keys.json',
    ],
    ['the private key', () => ['--public-key', put('private.pem', privatePem(serviceKey))], 'private.pem'],
  ])('is valid with %s, without any network access', async (_what, flags, source) => {
    const row = await verdict(text, flags())
    expect(row).toMatchObject({
      file: join(folder.path, 'a.json'),
      type: 'consent_receipt',
      result: 'valid',
      signed_by: keyId,
      issued_at: '2026-01-31T09:30:01.000Z',
    })
    expect(row.detail).toBe(`the key is from ${join(folder.path, source)}; its record was not in the log yet`)
    expect(schemaProblems(text)).toEqual([])
  })

  it('is valid from standard input, with the keys published by the instance', async () => {
    cli.instance.use(answers('get', keysPath, keySetOf(other, serviceKey)))
    const { code, stdout } = await cli.run(['verify', '-', '--json'], { stdin: text })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ file: '-', detail: expect.stringContaining(cli.instance.url) })
    expect(cli.sent().map(({ path }) => path)).toEqual(['/.well-known/consent-keys.json'])
    expect(cli.instance.requests[0]?.headers.authorization).toBeUndefined()
  })

  it('can be verified without an API key', async () => {
    cli.instance.use(answers('get', keysPath, keySetOf(serviceKey)))
    const env = { CONSENTCTL_API_KEY: undefined }
    expect(await cli.run(['verify', '-'], { stdin: text, env })).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('verify with several files', () => {
  it('are reported one by one, and exit with 0 only if each is valid; the keys are requested once', async () => {
    cli.instance.use(answers('get', keysPath, keySetOf(serviceKey)))
    const [good, bad] = [put('good.json', text), put('bad.json', text.replace('DE', 'FR'))]
    const ran = await cli.run(['verify', good, bad, good, '-o', 'tsv'])
    expect(ran.code).toBe(5)
    const rows = ran.stdout.trimEnd().split('\n')
    expect(rows.map(row => row.split('\t')[2])).toEqual(['valid', 'not_valid', 'valid'])
    expect(cli.sent()).toHaveLength(1)
    expect(await cli.run(['verify', good, good, '-q'])).toMatchObject({
      code: 0,
      stdout: `${good}\n${good}\n`,
    })
  })
})

describe('several files, one of which cannot be read', () => {
  const missing = join(tmpdir(), 'consentctl-missing.json')

  it('are all verified, and the exit code is the worst of them', async () => {
    const [good, bad] = [put('good.json', text), put('bad.json', text.replace('DE', 'FR'))]
    const ran = await run(['verify', good, missing, bad, '--keys', keys, '-o', 'tsv'])
    const rows = ran.stdout.trimEnd().split('\n')
    expect(rows.map(row => row.split('\t')[2])).toEqual(['valid', 'not_valid'])
    expect(ran.stderr).toMatch(/^error: .*missing.json/)
    expect(ran.code).toBe(5)
    expect(await run(['verify', missing, good, '--keys', keys, '-q'])).toMatchObject({ code: 2, stdout: `${good}\n` })
  })
})

it('when the instance cannot be reached, the error suggests --keys', async () => {
  const env = { CONSENTCTL_BASE_URL: 'http://127.0.0.1:9', CONSENTCTL_MAX_WAIT: '0' }
  expectExit(await cli.run(['verify', put('a.json', text)], { env }), 7, /^try: .*--keys/m)
})

describe('a chain of keys', () => {
  const next = signingKeyOf(Buffer.alloc(32, 7))
  const keySet = (...documents: (string | null)[]) => {
    const [statement = null, revocation = null, ...nexts] = documents
    const [present, earlier] = keySetOf(next, serviceKey).keys
    const set = [
      {
        ...present,
        statement: nexts.length > 0 ? nexts[0] : statementOf(next, serviceKey, { before: statement ?? undefined }),
        revocation: null,
      },
      { ...earlier, statement, revocation },
    ]
    return ['--keys', put('chain.json', JSON.stringify({ keys: set }))]
  }
  const first = statementOf(serviceKey, serviceKey)

  it('verifies a document signed by a superseded key', async () => {
    expect(await verdict(text, keySet(first))).toMatchObject({ result: 'valid', signed_by: keyId })
    const later = revocationOf(serviceKey, next, { reason: 'superseded', revoked_at: '2026-01-31T09:30:01.000Z' })
    expect(await verdict(text, keySet(first, later))).toMatchObject({ result: 'valid' })
  })

  it.each<[string, () => string[], RegExp]>([
    ['does not chain', () => keySet(null), /by the key \S+, which does not chain to the key \S+, the first of the set/],
    ['chains to another', () => keySet(first, null, statementOf(next, other)), /does not chain/],
    [
      'was not valid yet',
      () => keySet(statementOf(serviceKey, serviceKey, { not_before: '2026-01-31T09:30:01.001Z' })),
      /not valid yet/,
    ],
    [
      'had ended',
      () =>
        keySet(first, revocationOf(serviceKey, next, { reason: 'superseded', revoked_at: '2026-01-31T09:30:00.999Z' })),
      /was revoked at 2026-01-31T09:30:00.999Z, before the time of the document/,
    ],
    ['was stolen', () => keySet(first, revocationOf(serviceKey, next)), /because it was compromised/],
  ])('rejects a document of a key that %s', async (_, flags, why) => {
    await expectNotValid(text, why, flags())
  })
})

describe('a receipt whose record is in the log', () => {
  const head = '5'.repeat(64)
  const path = ['6'.repeat(64)]
  const root = rootOfInclusion({
    leafHash: leafHash(Buffer.from(head, 'hex')),
    index: 1,
    size: 2,
    path: path.map(node => Buffer.from(node, 'hex')),
  })
  const checkpoint = (fields: object = {}, key = serviceKey) => {
    const claim = {
      ...{ account_id: uuid(6), tree_size: 2, root_hash: root?.toString('hex'), previous_size: 1 },
      ...{ created_at: '2026-01-31T09:30:00.500Z', keys_size: 1, keys_root: '7'.repeat(64), key_id: keyIdOf(key) },
    }
    return signDocument({ type: 'checkpoint', version: 1, ...claim, ...fields }, key)
  }
  const earlier = (fields: object = {}) =>
    checkpoint({
      ...{ tree_size: 1, root_hash: path[0], previous_size: 0, created_at: '2026-01-31T09:00:00.000Z' },
      ...fields,
    })
  const growth = [leafHash(Buffer.from(head, 'hex')).toString('hex')]
  const receipt = (text: string, fields: object = {}, without = earlier()) => {
    const previous = { checkpoint: without, timestamp: null, path: growth }
    const inclusion = { leaf_index: 1, path, checkpoint: text, timestamp: null, previous, ...fields }
    return signedReceipt({ chain_head: head, inclusion })
  }

  it('is valid, and states when the log did not have it and when it did', async () => {
    const row = await verdict(receipt(checkpoint()))
    expect(row.detail).toMatch(
      /; its last event is dated 2026-01-31T09:30:00.000Z; not in the log at 2026-01-31T09:00:00.000Z, in it at 2026-01-31T09:30:00.500Z$/,
    )
    const first = await verdict(receipt(checkpoint({ previous_size: 0 }), { previous: null }))
    expect(first.detail).toMatch(/in the log at 2026-01-31T09:30:00.500Z, and no checkpoint shows when it was not$/)
    expect((await verdict(text)).detail).toMatch(/; its record was not in the log yet$/)
  })

  it('is not valid if it is dated more than ten minutes before a checkpoint without it', async () => {
    const at = (created_at: string) => receipt(checkpoint(), {}, earlier({ created_at }))
    expect(await verdict(at('2026-01-31T09:40:00.000Z'))).toMatchObject({ result: 'valid' })
    await expectNotValid(
      at('2026-01-31T09:40:00.001Z'),
      /its last event is dated .+, but the checkpoint of .+ was made without it/,
    )
  })

  it.each<[string, () => string, RegExp]>([
    ['another path', () => receipt(checkpoint(), { path: ['8'.repeat(64)] }), /is not in the log of its checkpoint/],
    ['a longer path', () => receipt(checkpoint(), { path: [...path, ...path] }), /is not in the log/],
    ['another leaf', () => receipt(checkpoint(), { leaf_index: 0 }), /is not in the log/],
    ['another root', () => receipt(checkpoint({ root_hash: '9'.repeat(64) })), /is not in the log/],
    [
      'a checkpoint of an unknown key',
      () => receipt(checkpoint({}, signingKeyOf(Buffer.alloc(32, 9)))),
      /its checkpoint names the key .+, which is unknown/,
    ],
    [
      'a changed checkpoint',
      () => receipt(checkpoint().replace('"tree_size": 2', '"tree_size": 3')),
      /its checkpoint is not what was signed/,
    ],
    ['another document', () => receipt(text), /its checkpoint is not a checkpoint/],
    ['no checkpoint before it', () => receipt(checkpoint(), { previous: null }), /is without the checkpoints/],
    ['another one before it', () => receipt(checkpoint({ previous_size: 0 })), /is without the checkpoints/],
    ['one of another account', () => receipt(checkpoint(), {}, earlier({ account_id: uuid(7) })), /is without the/],
    ['one of another log', () => receipt(checkpoint(), {}, earlier({ root_hash: '9'.repeat(64) })), /not of one log/],
  ])('is not valid with %s, though it is signed', async (_, content, why) => {
    await expectNotValid(content(), why)
  })

  describe('with --live', () => {
    const asJson = { headers: { 'content-type': 'application/json' } }
    const live = async (newest: string, document = receipt(checkpoint()), present: string | null = document) => {
      cli.instance.use(
        answers('get', keysPath, keySetOf(serviceKey)),
        http.get('*/api/v1/consents/:id/receipt', () =>
          present === null ? fails(404, 'not_found') : HttpResponse.text(present, asJson),
        ),
        http.get('*/api/v1/log/checkpoint', () => HttpResponse.text(newest, asJson)),
        answers('get', '*/api/v1/log/consistency', { first: 1, second: 2, path: growth }),
      )
      const { code, stdout, stderr } = await cli.run(['verify', put('a.json', document), '--live', '--json'])
      expect(stderr).toBe('')
      return { code, ...JSON.parse(stdout) }
    }

    it('reports that the log only grew since the checkpoint of the receipt, or since the file', async () => {
      const since = '; the log only grew since, to that of 2026-01-31T09:30:00.500Z'
      for (const document of [receipt(checkpoint()), checkpoint(), earlier()])
        expect(await live(checkpoint(), document)).toMatchObject({ code: 0, detail: expect.stringContaining(since) })
    })

    const newer = {
      record_id: uuid(2),
      purpose: 'marketing',
      answered_at: '2026-01-31T09:30:00.900Z',
      state: 'refused',
    } as const
    const again = `a newer answer about "marketing" of 2026-01-31T09:30:00.900Z was recorded for the same identifier on this site, in the record ${uuid(2)}: refused`

    it('says what changed since a consent receipt was issued', async () => {
      const old = signedReceipt()
      const at = { issued_at: '2026-01-31T10:00:00.000Z' }
      const changed = { consent_status: 'dpv:ConsentExpired', expires_at: '2026-01-31T09:45:00.000Z' } as const
      for (const [present, words] of [
        [
          old,
          '; at 2026-01-31T09:30:01.000Z its record is the same; the instance knows no newer answer about its purposes for the same identifier on this site',
        ],
        [signedReceipt({ ...at, newer_answers: [newer] }), `; at ${at.issued_at} its record is the same; ${again}`],
        [
          signedReceipt({ ...at, ...changed }),
          `; at ${at.issued_at} its record is the same, and is expired ("marketing" given`,
        ],
        [
          signedReceipt({ ...at, chain_head: '1'.repeat(64) }),
          `; at ${at.issued_at} its record was changed since, and is given ("marketing" given`,
        ],
        [
          signedReceipt({ compared_records: null }),
          '; at 2026-01-31T09:30:01.000Z its record is the same; the instance compared no other records for the same identifier on this site',
        ],
        [signedReceipt({ pii_principal_id: null }), '; at 2026-01-31T09:30:01.000Z its record is the same'],
        [null, '; the instance shows this key no live record of its id'],
      ] as const)
        expect(await live(checkpoint(), old, present)).toMatchObject({
          code: 0,
          detail: expect.stringContaining(words),
        })
      for (const other of [{ record_id: uuid(9) }, { events: [{ ...receiptOf().events[0], event_id: uuid(77) }] }])
        expect(await live(checkpoint(), old, signedReceipt(other))).toMatchObject({
          code: 5,
          detail: expect.stringContaining('the history of its record no longer has its events'),
        })
      expect(await live(checkpoint(), old, signedReceipt().replace('DE', 'AT'))).toMatchObject({
        code: 5,
        detail: expect.stringContaining('what the instance returns as its present receipt is not'),
      })
    })

    it('without --live, says that a newer answer was recorded when the receipt says so', async () => {
      expect((await verdict(signedReceipt({ newer_answers: [newer] }))).detail).toContain(`; ${again}`)
      expect((await verdict(signedReceipt())).detail).not.toContain('answer')
    })

    it.each<[string, string, RegExp]>([
      ['was changed', checkpoint({ root_hash: '9'.repeat(64) }), /the log was changed since/],
      ['was shortened', earlier(), /the log was shortened since/],
      ['is signed by a stranger', checkpoint({}, other), /the newest checkpoint names the key .+, which is unknown/],
      [
        'is of another account',
        checkpoint({ account_id: uuid(7) }),
        /is of the account .+, and the log that was asked/,
      ],
    ])('rejects a receipt if the log %s', async (_, newest, why) => {
      expect(await live(newest)).toMatchObject({ code: 5, result: 'not_valid', detail: expect.stringMatching(why) })
    })
  })
})

const digest = 'f1'.repeat(32)
const imported = {
  ...{ system: 'acme', id: '4711', evidence: null },
  ...{ imported_at: '2026-01-31T09:30:00.000Z', files: [digest] },
}
const importedEvents = receiptOf().events.map(event => ({ ...event, given_at: '2021-03-04T05:06:07.891Z' }))

/** Its words are those of its fields, unless others are given. */
function importedReceipt(changes: object = {}, events: readonly object[] = importedEvents): string {
  const origin = { ...imported, ...changes }
  return signedReceipt({
    events,
    record_version: events.length,
    origin: { statement: describeOrigin(origin), ...origin },
  })
}

it('a receipt of an imported record is valid, with the source of its answers', async () => {
  const { result, detail } = await verdict(importedReceipt())
  expect(result).toBe('valid')
  expect(detail).toContain(`as told by "acme", imported on ${imported.imported_at}, file SHA-256 ${digest}`)
})

describe('invalid documents', () => {
  it.each([0, 1, 2, 3])('rejects any one changed byte: part %i of 4', async part => {
    const bytes = Buffer.from(text)
    const files: string[] = []
    for (let index = part; index < bytes.length; index += 4) {
      const changed = Buffer.from(bytes)
      const byte = changed[index] ?? 0
      changed[index] = [byte ^ 1, byte ^ 32, 10, 32, 65, 0][index % 6] === byte ? byte ^ 2 : byte ^ 1
      files.push(put(`byte-${index}`, changed))
    }
    const { code, stdout } = await run(['verify', ...files, '--keys', keys, '-o', 'ndjson'])
    const results = stdout.trimEnd().split('\n')
    expect([code, results.length]).toEqual([5, files.length])
    expect(results.filter(line => !line.includes('"result":"not_valid"'))).toEqual([])
  })

  it.each<[what: string, content: () => string | Buffer, why: RegExp]>([
    ['nothing', () => '', /no signature as its last line/],
    ['JSON that is not signed', () => JSON.stringify(receiptOf(), null, 2), /its end is missing/],
    [
      'another valid key in its key_id',
      () => text.replace(keyId, keyIdOf(other)),
      /it, its key_id or its signature was changed/,
    ],
    [
      'an unknown key in its key_id',
      () => text.replace(keyId, 'x'.repeat(43)),
      /names the key x{43}, which is unknown: it is none of those from .*consent-keys\.json/,
    ],
    [
      'the signature of another document',
      () => text.replace(/"signature".*\n/, /"signature".*\n/.exec(signedReceipt({ country: 'FR' }))?.[0] ?? ''),
      /was changed/,
    ],
    ['a version of the future', () => signedReceipt({ version: 2 }), /version 2, and .* version 1: a newer one/],
    ['a version that does not exist', () => signedReceipt({ version: 0.5 }), /version 0\.5, which does not exist/],
    ['an unknown type', () => signedReceipt({ type: 'gift\u202ecard' }), /of the type gift.*card, which this/],
    ['a name of Object.prototype as its type', () => signedReceipt({ type: 'constructor' }), /does not know/],
    [
      'a key given twice',
      () => text.replace('\n  "country"', '\n  "region": null,\n  "country"'),
      /the key "region" twice/,
    ],
    ['CRLF', () => text.replaceAll('\n', '\r\n'), /^line ends were changed to CRLF/],
    ['a byte order mark', () => `\ufeff${text}`, /begins with a byte order mark/],
    ['UTF-16', () => Buffer.from(`\ufeff${text}`, 'utf16le'), /UTF-16/],
    ['a missing final newline', () => text.trimEnd(), /its end is missing/],
    ['an extra empty line', () => `${text}\n`, /no signature as its last line/],
    [
      'a field that its type does not have, though it is signed',
      () => signedReceipt({ consent_status: 'yes' }),
      /is signed, but not as its type says \(consent_status: /,
    ],
    [
      'a statement of the import that differs from its fields, though it is signed',
      () =>
        importedReceipt({ statement: `as told by "eve", imported on ${imported.imported_at}, file SHA-256 ${digest}` }),
      /contradicts itself on the import/,
    ],
    [
      'an import time that differs from its events, though it is signed',
      () => importedReceipt({ imported_at: '2026-01-31T09:30:00.001Z' }),
      /contradicts itself on the import/,
    ],
    [
      'an import without an origin, though it is signed',
      () => signedReceipt({ events: importedEvents }),
      /contradicts itself on the import/,
    ],
    [
      'an origin without an import, though it is signed',
      () => signedReceipt({ origin: { ...imported, statement: describeOrigin(imported) } }),
      /contradicts itself on the import/,
    ],
    [
      'an import after a witnessed answer, though it is signed',
      () => importedReceipt({}, [...receiptOf().events, ...importedEvents]),
      /contradicts itself on the import/,
    ],
    ['an extra field, though it is signed', () => signedReceipt({ purpose: 'x' }), /not as its type says/],
  ])('rejects %s', async (_what, content, why) => {
    await expectNotValid(content(), why)
  })

  it('prints it without control characters', async () => {
    const file = put('a.json', signedReceipt({ type: '\u001b[31m\u202e' }))
    const { code, stdout } = await run(['verify', file, '--keys', keys, '--color', 'never'], screen)
    expect(code).toBe(5)
    expect(stdout).not.toMatch(dangerous)
  })

  it('rejects a receipt signed by a key other than the given one', async () => {
    await expectNotValid(text, /unknown/, ['--public-key', put('other.pem', publicPem(other))])
  })

  it('rejects a service document signed by a profile, and a profile document signed by the service', async () => {
    const profile = ['--public-key', put('profile.pem', publicPem(other))]
    const service = ['--keys', put('service.json', JSON.stringify(keySetOf(serviceKey)))]
    expect(await verdict(text, [...service, ...profile])).toMatchObject({ result: 'valid' })
    const receipt = signDocument({ ...receiptOf(), key_id: keyIdOf(other) }, other)
    await expectNotValid(receipt, /unknown: it is none of those from .*service.json$/, [...service, ...profile])
    const manifest = signDocument({ type: 'export_manifest', version: 1, key_id: keyId }, serviceKey)
    await expectNotValid(manifest, /none of those from .*profile.pem$/, [...service, ...profile])
    await expectNotValid(manifest, /none of those given with --public-key/, service)
  })
})

describe('unusable keys', () => {
  const [jwk] = keySetOf(serviceKey).keys
  it.each<[what: string, content: string]>([
    ['text that is not JSON', 'x'],
    ['JSON that is not a key set', '{"kid":"a"}'],
    ['a set without an Ed25519 key', JSON.stringify({ keys: [{ kty: 'RSA' }] })],
    ['a key with the id of another', JSON.stringify({ keys: [{ ...jwk, kid: keyIdOf(other) }] })],
    ['a key with the PEM of another', JSON.stringify({ keys: [{ ...jwk, pem: publicPem(other) }] })],
    ['a key of another length', JSON.stringify({ keys: [{ ...jwk, x: 'AAAA' }] })],
    ['a key given twice', `{"keys":[],"keys":[]}`],
  ])('rejects %s', async (_what, content) => {
    const file = put('bad-keys.json', content)
    expectNoStdout(await run(['verify', put('a.json', text), '--keys', file]), 5, file)
  })

  it('rejects a PEM file without a key, and missing files', async () => {
    const file = put('a.json', text)
    expect(await run(['verify', file, '--public-key', keys])).toMatchObject({ code: 5, stdout: '' })
    for (const args of [
      [file, '--keys', 'missing'],
      [file, '--public-key', 'missing'],
      ['missing', '--keys', keys],
    ])
      expect(await run(['verify', ...args])).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining('no such file: missing'),
      })
  })

  it('fails if the instance publishes none, or is not set', async () => {
    const file = put('a.json', text)
    cli.instance.use(answers('get', '*/api/v1/openapi.json', { paths: {} }))
    cli.instance.use(answers('get', keysPath, await fails(404, 'not_found').json(), 404))
    const { code, stderr } = await cli.run(['verify', file, '-o', 'json'])
    expect(code).toBe(2)
    expect(machineError(stderr)).toMatchObject({
      code: 'not_offered',
      hint: expect.stringContaining('--keys'),
    })
    const none = await run(['verify', file], { env: { CONSENTCTL_CONFIG_DIR: cli.freshFolder() } })
    expect(none).toMatchObject({ code: 2, stdout: '' })
    expect(none.stderr).toContain('--keys')
  })

  it('ignores keys of other kinds in a set', async () => {
    const mixed = { keys: [{ kty: 'RSA', n: 'x' }, ...keySetOf(serviceKey).keys] }
    expect(await verdict(text, ['--keys', put('mixed.json', JSON.stringify(mixed))])).toMatchObject({
      result: 'valid',
    })
  })
})

it('a folder that is not an evidence pack, or a file that is too large for one, exits with 5', async () => {
  const path = (name: string) => join(folder.path, name)
  mkdirSync(path('home/documents'), { recursive: true })
  writeFileSync(path('home/documents/large'), '')
  truncateSync(path('home/documents/large'), 3 * 2 ** 30)
  const run = async () => {
    const { code, stderr } = await cli.run(['verify', path('home')])
    return [code, stderr]
  }
  expect(await run()).toEqual([5, expect.stringContaining('documents is not an evidence pack: it has no pack.json')])
  writeFileSync(path('home/pack.json'), '{}')
  expect(await run()).toEqual([5, expect.stringContaining('large is larger than 64 MiB')])
})

it('a document that a third party signed for itself proves nothing about the service', async () => {
  const stranger = newSigningKey()
  const forged = signDocument({ ...receiptOf(), key_id: keyIdOf(stranger) }, stranger)
  await expectNotValid(forged, /unknown/)
})
