import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { formatCount } from '../../../src/cli/messages.ts'
import type { CheckMany } from '../../../src/contract/index.ts'
import { publicPem } from '../../../src/evidence/keys.ts'
import { useFolder } from '../../support/cli.ts'
import { schemaProblems } from '../../support/document-schema.ts'
import { hasVerifier, runVerifier } from '../../support/verifier.ts'
import { examples, profileKey, signedAgain } from '../evidence/examples.ts'
import { answers, expectExit, expectNoStdout, fails, site, useCli, uuid } from '../support.ts'
import { foreignLists } from './consents/bulk/foreign-lists.ts'

const cli = useCli()
const folder = useFolder()
let runs = 0
let work: string
const place = (name: string) => join(work, name)
const put = (name: string, content: string | Uint8Array) => {
  writeFileSync(place(name), content)
  return place(name)
}
const read = (name: string) => readFileSync(place(name), 'utf8')
const sha256 = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex')

const path = '/api/v1/subjects/check'
const at = '2026-11-22T21:00:00.000Z'

/** UTF-8 or UTF-16, by its byte order mark, which stays. */
function decode(content: string | Uint8Array): string {
  if (typeof content === 'string') return content
  const encoding = content[0] === 0xfe ? 'utf-16be' : 'utf-16le'
  return new TextDecoder(encoding, { ignoreBOM: true }).decode(content)
}

const reasons: Readonly<Record<string, [allowed: boolean | null, reason: string]>> = {
  yes: [true, 'consented'],
  no: [false, 'withdrawn'],
  late: [false, 'expired'],
  mute: [null, 'purpose_not_answered'],
}

/** By the letters that an identifier begins with; `near` has a near match, and any other no record. */
function answer(subject: string) {
  const [allowed, reason] = reasons[/^[a-z]+/.exec(subject)?.[0] ?? ''] ?? [null, 'no_record']
  const record = reason === 'no_record' ? null : uuid(1)
  return {
    ...{ allowed, reason, expires_at: null, witnessed: record && true },
    ...{ record_id: record, site_id: record && site, policy_version: record && 3 },
    ...(subject.startsWith('near') && { near_matches: [subject.toUpperCase()] }),
  }
}

const described = (...paths: string[]) =>
  answers('get', '*/api/v1/openapi.json', {
    openapi: '3.1.1',
    paths: Object.fromEntries(paths.map(each => [each, { post: {}, get: {} }])),
  })

const asked: CheckMany[] = []
beforeEach(() => {
  work = join(folder.path, String(++runs))
  mkdirSync(work)
  asked.length = 0
  cli.instance.use(
    described(path),
    http.post(`*${path}`, async ({ request }) => {
      const body = (await request.json()) as CheckMany
      asked.push(body)
      return HttpResponse.json({ purpose: body.purpose, site_id: null, at, answers: body.subject_ids.map(answer) })
    }),
  )
})

const check = (...flags: string[]) => cli.run(['check', '--purpose', 'marketing', ...flags])
const gate = (file: string, ...flags: string[]) =>
  check('--file', file, '--out', place('allowed'), '--stopped-out', place('stopped'), ...flags)

describe('check --file', () => {
  const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')
  it.each<[what: string, name: string, content: string | Buffer, flags: string[], allowed: string, stopped: string]>([
    ['lines', 'a.txt', 'yes1\nno 1\n\n  \nyes2', [], 'yes1\nyes2', 'no 1\n'],
    [
      'CRLF',
      'a.csv',
      'E-Mail,x\r\nyes,1\r\nno,2\r\n',
      ['--column', 'e-mail'],
      'E-Mail,x\r\nyes,1\r\n',
      'E-Mail,x\r\nno,2\r\n',
    ],
    [
      'quoted cells with line feeds, and blanks that are kept',
      'a.csv',
      'note;"email"\n"a;\n""b""";yes\n x ;"no"\n;;\n',
      ['--column', 'email'],
      'note;"email"\n"a;\n""b""";yes\n',
      'note;"email"\n x ;"no"\n;;\n',
    ],
    [
      'a row of empty cells',
      'a.csv',
      'a;subject_id\n1;yes\n;\n2;no\n',
      [],
      'a;subject_id\n1;yes\n',
      'a;subject_id\n2;no\n',
    ],
    [
      'a byte order mark and sep=',
      'a.csv',
      '\ufeffsep=;\nsubject_id;a,b\nyes;1\nno;2\n',
      [],
      '\ufeffsep=;\nsubject_id;a,b\nyes;1\n',
      '\ufeffsep=;\nsubject_id;a,b\nno;2\n',
    ],
    ['TSV', 'a.tsv', 'subject_id\tb\nyes\t"x\n"\nno\t,\n', [], 'subject_id\tb\nyes\t"x\n"\n', 'subject_id\tb\nno\t,\n'],
    [
      'UTF-16',
      'a.csv',
      utf16('subject_id,ü\nyes,ä\nno,ö\n'),
      [],
      '\ufeffsubject_id,ü\nyes,ä\n',
      '\ufeffsubject_id,ü\nno,ö\n',
    ],
    [
      'NDJSON',
      'a.ndjson',
      '{"mail": "yes","n":1.0}\n { "n":2, "mail":"no" } \n',
      ['--column', 'mail'],
      '{"mail": "yes","n":1.0}\n',
      ' { "n":2, "mail":"no" } \n',
    ],
  ])('writes the bytes of each line in its order: %s', async (_what, name, content, flags, allowed, stopped) => {
    const { code } = await gate(put(name, content), ...flags)
    expect([read('allowed'), read('stopped')]).toEqual([allowed, stopped])
    expect(code).toBe(stopped.includes(';;\n') ? 8 : 10)
    for (const file of ['allowed', 'stopped']) expect(statSync(place(file)).mode & 0o777).toBe(0o600)
  })

  it.each(foreignLists)(
    'writes the bytes of each line in its order: $name',
    async ({ content, extension = 'csv', column, flags = [], records }) => {
      const list = put(`a.${extension}`, content)
      const lines = decode(content).replace(';;;\r\n', '')
      const filter = async (...allowed: unknown[]) => {
        cli.instance.use(
          http.post(`*${path}`, async ({ request }) => {
            const { subject_ids, purpose } = (await request.json()) as CheckMany
            const found = subject_ids.map(subject => answer(allowed.includes(subject) ? 'yes' : 'no'))
            return HttpResponse.json({ purpose, site_id: null, at, answers: found })
          }),
        )
        const { code, stderr } = await gate(list, '--column', column, '--force', ...flags)
        const [yes, no] = [allowed.length, records.length - allowed.length]
        const count = (lines: number, reason: string) =>
          `${formatCount(lines, 'line')}${lines ? `: ${lines} ${reason}` : ''}\n`
        expect([code, stderr]).toEqual([10, `allowed ${count(yes, 'consented')}stopped ${count(no, 'withdrawn')}`])
        return [read('allowed'), read('stopped')] as const
      }
      const [one, other] = records.map(record => record['subject_id'])
      const [header, all] = await filter()
      expect(all).toBe(lines)
      const [first, rest] = await filter(one)
      expect(first + rest.slice(header.length)).toBe(lines)
      const [last, before] = await filter(other)
      expect([last, before]).toEqual([rest, first])
      expect(last.length * before.length).toBeGreaterThan(header.length ** 2)
    },
  )

  it('exits with 0 if all are allowed, and asks for what the flags say', async () => {
    const ran = await gate(put('a.txt', 'yes1\nyes2\n'), '--site', site, '--at', '2026-03-03', '--only-witnessed')
    expectNoStdout(ran, 0, 'allowed 2 lines: 2 consented\nstopped 0 lines\n')
    const question = { purpose: 'marketing', site_id: site, at: '2026-03-03T23:59:59.999Z', only_witnessed: true }
    expect(asked).toEqual([{ ...question, subject_ids: ['yes1', 'yes2'], near_matches: true }])
    expect(read('stopped')).toBe('')
  })

  it('stops persons of whom nothing is known, unless --unknown allow', async () => {
    const list = put('a.txt', 'new\nyes\nmute\nlate\n')
    expectExit(
      await gate(list),
      10,
      'allowed 1 line: 1 consented',
      'stopped 3 lines: 1 expired, 1 no_record, 1 purpose_not',
    )
    expect(read('allowed')).toBe('yes\n')
    expectExit(await gate(list, '--unknown', 'allow', '--force'), 10, 'stopped 1 line: 1 expired')
    expect([read('allowed'), read('stopped')]).toEqual(['new\nyes\nmute\n', 'late\n'])
  })

  it('when no answer consents or consented, and some lack the purpose, says so', async () => {
    const said = 'no record of the list consents or consented to marketing: check the spelling of --purpose'
    expectExit(await gate(put('a.txt', 'mute\nnew\n')), 10, said)
    for (const others of ['mute\nno\n', 'new\n'])
      expect((await gate(put('a.txt', others), '--force')).stderr).not.toContain(said)
  })

  it('stops lines without an identifier, names the first ten of them, and exits with 8', async () => {
    const list = put('a.csv', `subject_id,x\nyes,1\n,2\n${'no,3,4\n'.repeat(10)}yes"\n`)
    expectExit(
      await gate(list),
      8,
      'line 3 has no identifier\n',
      'line 4 has 3 cells, and the header 2\n',
      'other lines that could not be told: 2',
    )
    expect(read('allowed')).toBe('subject_id,x\nyes,1\n')
    const json = put('a.ndjson', '{"subject_id":"yes"}\n{"subject_id":7}\n[]\nnope\n{"subject_id":""}\n')
    expectExit(await gate(json, '--force'), 8, 'line 2 has no text in the field "subject_id"', 'line 4 is not JSON')
    const lines = put('a.txt', Buffer.concat([Buffer.from(`yes\n${'x'.repeat(256)}\n`), Buffer.of(0xff, 10)]))
    expectExit(await gate(lines, '--force'), 8, 'line 2 has an identifier that', 'line 3 is not valid UTF-8')
    expect(read('allowed')).toBe('yes\n')
  })

  it('names ten near matches of unknown persons, and takes none for a match', async () => {
    const list = put('a.txt', Array.from({ length: 12 }, (_, index) => `near${index}\n`).join(''))
    const { code, stderr } = await gate(list)
    expect([code, read('allowed')]).toEqual([10, ''])
    expect(stderr.match(/no record of near\d, near match: NEAR\d\n/g)).toHaveLength(10)
    expect(stderr).toContain('near matches not shown: 2\n12 lines with near matches: treated as unknown')
    expectExit(await gate(list, '--unknown', 'allow', '--force'), 0, 'allowed 12 lines: 12 no_record')
  })

  it('asks for 1,000 lines a request, keeps their order, and reads long lines in small requests', async () => {
    const subjects = Array.from({ length: 2500 }, (_, index) => `${index % 3 ? 'yes' : 'no'}${index}`)
    await gate(put('a.txt', `${subjects.join('\n')}\n`))
    const sizes = () => asked.map(({ subject_ids }) => subject_ids.length)
    expect(sizes().every(size => size <= 1000)).toBe(true)
    expect(sizes().length).toBeLessThan(10)
    expect(read('allowed').split('\n').slice(0, -1)).toEqual(subjects.filter(each => each.startsWith('yes')))
    asked.length = 0
    await gate(put('b.csv', `subject_id,x\n${`yes,${'x'.repeat(300_000)}\n`.repeat(5)}`), '--force')
    expect(sizes().every(size => size <= 2)).toBe(true)
    expect(read('allowed')).toBe(readFileSync(place('b.csv'), 'utf8'))
  })

  it('reads standard input, and writes the allowed lines to standard output', async () => {
    const stdin = 'a;email\n1;yes\n2;no\n'
    const flags = ['--purpose', 'marketing', '--file', '-', '--column', 'email', '--out', '-']
    const ran = await cli.run(['check', ...flags], { stdin })
    expect([ran.code, ran.stdout]).toEqual([10, 'a;email\n1;yes\n'])
  })

  it.each([
    ['a file that is not there', () => place('none.csv'), 'no such file'],
    ['a folder', () => work, 'cannot be read'],
    ['a header without the column', () => put('a.csv', 'a,b\nyes,no\n'), 'name one with --column: a, b'],
    ['a column that is there twice', () => put('a.csv', 'subject_id,subject_id\nyes,no\n'), 'twice'],
    ['a line over 1 MiB', () => put('a.txt', 'x'.repeat(1_100_000)), 'longer than 1 MiB'],
    [
      'a quotation mark that is not closed',
      () => put('a.csv', 'subject_id,x\n"no,1\nyes,2\n'),
      'line 2 has an opening quotation mark that is never closed: the rows in lines 2 to 3 cannot be told apart\ntry: correct line 2',
    ],
    ['damaged UTF-16', () => put('a.csv', Buffer.from('fffe610000d8', 'hex')), 'not valid UTF-16'],
    ['only a header', () => put('a.csv', 'subject_id\n'), 'has no line to check'],
  ])('exits with 5 for %s, and writes nothing', async (_what, make, said) => {
    expectNoStdout(await gate(make(), '--receipt-out', place('gate.json')), 5, said)
    expect(asked).toEqual([])
    expect(readdirSync(work).filter(name => !name.startsWith('a.'))).toEqual([])
  })

  it('when the service fails in between, leaves no file, and what --force would replace as it was', async () => {
    const list = put('a.txt', 'yes\n'.repeat(1500))
    put('allowed', 'before')
    let requests = 0
    cli.instance.use(http.post(`*${path}`, () => (requests++ === 0 ? undefined : fails(403, 'forbidden', 'no'))))
    expectNoStdout(await gate(list, '--force', '--receipt-out', place('gate.json')), 4, 'no')
    expect(readdirSync(work).sort()).toEqual(['a.txt', 'allowed'])
    expect(read('allowed')).toBe('before')
  })

  it('when a file exists, an output is named twice or a flag needs --file, sends nothing', async () => {
    const list = put('a.txt', 'yes\n')
    put('stopped', '')
    expectNoStdout(await gate(list), 2, '--stopped-out', 'already exists')
    expectNoStdout(await check('--file', list, '--out', list, '--force'), 2, 'must be different files')
    expectNoStdout(await check('--file', list), 2, '--out is missing')
    expectNoStdout(await check('maria', '--file', list, '--out', place('out')), 2, 'cannot be given with --file')
    expectNoStdout(await check(), 2, 'id is missing')
    expectNoStdout(await check('maria', '--column', 'x'), 2, '--column requires --file')
    expectNoStdout(await gate(list, '--valid-for', '1h'), 2, '--valid-for requires --receipt-out')
    expect(asked).toEqual([])
    expect(existsSync(place('allowed'))).toBe(false)
  })

  it('when the instance has only the basic routes, says not_offered and sends no identifier', async () => {
    cli.instance.use(described('/api/v1/consents'))
    expectNoStdout(await gate(put('a.txt', 'yes\n')), 2, 'cannot check lists')
    expect(asked).toEqual([])
    expect(readdirSync(work)).toEqual(['a.txt'])
  })

  it('when the service answers for too few, writes nothing', async () => {
    cli.instance.use(answers('post', `*${path}`, { purpose: 'marketing', site_id: null, at, answers: [answer('yes')] }))
    expectNoStdout(await gate(put('a.txt', 'yes\nno\n')), 2, 'returned 1 answers for 2 persons')
    expect(readdirSync(work)).toEqual(['a.txt'])
  })
})

describe('the receipt of check --file', () => {
  const { signature: _, ...checkpoint } = JSON.parse(examples['checkpoint'] ?? '')
  const account = { account_id: uuid(5), kind: 'api_key', id: uuid(6), role: null, scopes: ['read'], site_ids: [site] }
  const make = async (...flags: string[]) => {
    cli.instance.use(
      described(path, '/api/v1/log/checkpoint', '/api/v1/caller'),
      http.get(
        '*/api/v1/log/checkpoint',
        () => new HttpResponse(examples['checkpoint'], { headers: { 'content-type': 'application/json' } }),
      ),
      answers('get', '*/api/v1/caller', account),
    )
    const list = put('a.csv', 'subject_id;x\nyes1;\nnear;\n;3\nno;\nyes2;\n')
    expectExit(await gate(list, '--receipt-out', place('gate.json'), ...flags), 8)
    return JSON.parse(read('gate.json'))
  }
  const verify = (...flags: string[]) => cli.run(['verify', place('gate.json'), ...flags, '--json'])

  it('signs what was read and written, without an identifier', async () => {
    const receipt = await make()
    const of = (name: string, lines: number) => {
      return { sha256: sha256(read(name)), bytes: Buffer.byteLength(read(name)), lines }
    }
    const { tree_size, root_hash, created_at } = checkpoint
    expect(receipt).toMatchObject({
      ...{ type: 'gate_receipt', version: 1, account_id: uuid(5), api_key_id: uuid(6), key_site_ids: [site] },
      ...{ purpose: 'marketing', site_id: null, at: null, only_witnessed: false, unknown: 'stop' },
      ...{ list: of('a.csv', 5), allowed: of('allowed', 2), stopped: of('stopped', 3) },
      reasons: [
        { reason: 'consented', allowed: true, lines: 2 },
        { reason: 'no_record', allowed: false, lines: 1 },
        { reason: 'not_told', allowed: false, lines: 1 },
        { reason: 'withdrawn', allowed: false, lines: 1 },
      ],
      ...{ near_matches: 1, policy_versions: [{ site_id: site, policy_version: 3, lines: 2 }] },
      ...{ checkpoint: { tree_size, root_hash, created_at }, first_answer_at: at, last_answer_at: at },
    })
    expect(Date.parse(receipt.valid_until) - Date.parse(receipt.created_at)).toBe(86_400_000)
    expect(schemaProblems(read('gate.json'))).toEqual([])
    expect(read('gate.json')).not.toMatch(/yes1|near"|a\.csv/)
    expect(statSync(place('gate.json')).mode & 0o777).toBe(0o600)
  })

  it('is verified by verify, which says if a file is the list that it allows, and if it has expired', async () => {
    await make('--valid-for', '90m')
    const valid = JSON.parse((await verify()).stdout)
    expect(valid).toMatchObject({
      type: 'gate_receipt',
      result: 'valid',
      detail: expect.stringContaining('it expires at'),
    })
    const detail = async (file: string, code: number) => {
      const ran = await verify('--list', place(file))
      expect(ran.code).toBe(code)
      return JSON.parse(ran.stdout).detail as string
    }
    expect(await detail('allowed', 0)).toMatch(/allowed is the list that it allows, until /)
    expect(await detail('a.csv', 5)).toMatch(/is not the list that it allows, but the one that was checked$/)
    expect(await detail('stopped', 5)).toMatch(/is not the list that it allows, but its stopped lines$/)
    put('other', 'yes1\n')
    expect(await detail('other', 5)).toMatch(/other is not the list that it allows$/)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 5_400_000 })
    try {
      expect(await detail('allowed', 5)).toMatch(/it allows .*allowed, but expired at .*: check the list again$/)
      expect(JSON.parse((await verify()).stdout).detail).toContain('it expired at')
    } finally {
      vi.useRealTimers()
    }
    expectExit(await verify('--list', place('none')), 2, 'no such file')
    writeFileSync(place('gate.json'), examples['export manifest'] ?? '')
    const pem = put('key.pem', publicPem(profileKey))
    expect((await verify('--list', place('allowed'), '--public-key', pem)).stdout).toContain('which allows no list')
  })

  it.skipIf(!hasVerifier)('is judged alike by verify.py, with and without a list', async () => {
    const pem = put('key.pem', publicPem(profileKey))
    const python = (...flags: string[]) => runVerifier(['--profile-key', pem, place('gate.json'), ...flags])
    const list = put('allowed', 'yes\n')
    const own = { sha256: sha256('yes\n'), bytes: 4, lines: 3 }
    const until = new Date(Date.now() + 60_000).toISOString()
    const fields = { allowed: own, created_at: new Date().toISOString(), valid_until: until }
    put(
      'gate.json',
      signedAgain(examples['gate receipt'] ?? '', () => fields),
    )
    expect(python().lines).toEqual([`${place('gate.json')}: gate_receipt is valid`])
    expect(python('--list', list).lines[0]).toMatch(/is valid, and allows .*allowed until /)
    expect((await verify('--list', list, '--public-key', pem)).code).toBe(0)
    put('allowed', 'yes\nno\n')
    expect(python('--list', list)).toMatchObject({ status: 1, lines: [expect.stringContaining('is not the list')] })
    const over = { ...fields, created_at: '2026-02-05T09:30:01.000Z', valid_until: '2026-02-06T09:30:01.000Z' }
    put(
      'gate.json',
      signedAgain(examples['gate receipt'] ?? '', () => over),
    )
    put('allowed', 'yes\n')
    expect(python()).toMatchObject({ status: 0, lines: [expect.stringMatching(/ is valid$/)] })
    expect(python('--list', list).lines[0]).toMatch(/not valid: it allows .*, but expired at 2026-02-06/)
  })
})
