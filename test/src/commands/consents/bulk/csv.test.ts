import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { useFolder } from '../../../../support/cli.ts'
import { consent, consentsPath, expectExit, expectUnsent, ndjson, site, useCli, uuid } from '../../../support.ts'

const cli = useCli()
const folder = useFolder()

async function feed(csv: string | Uint8Array, ...flags: string[]) {
  cli.instance.use(http.post(consentsPath, () => HttpResponse.json(consent(), { status: 201 })))
  const args = ['create', '--file', '-', '--format', 'csv', '--site', site, '--concurrency', '1', ...flags]
  const ran = await cli.run(args, { stdin: csv })
  return { ...ran, bodies: cli.sent().map(({ body }) => body as Record<string, unknown>) }
}

describe('create --file in CSV', () => {
  it('reads columns as typed fields, and omits empty cells', async () => {
    const header =
      'site_id,subject_id,consent_id,accepted,policy_version,ip_address,user_agent,preferences,pref.marketing'
    const { code, bodies } = await feed(
      `${header}\n${uuid(5)},"Zoë, ""Z""",b,TRUE,3,192.0.2.1,Mozilla,"{""a"":1}",true\n,s,,false,,,,,\n`,
    )
    expect(code).toBe(0)
    expect(bodies).toEqual([
      {
        site_id: uuid(5),
        subject_id: 'Zoë, "Z"',
        consent_id: 'b',
        accepted: true,
        policy_version: 3,
        ip_address: '192.0.2.1',
        user_agent: 'Mozilla',
        preferences: { a: 1, marketing: true },
      },
      { site_id: site, subject_id: 's', accepted: false },
    ])
  })

  it('reads circumstances from an object and from columns of their own, also by a map', async () => {
    const header = 'circumstances,circumstances.method,Circumstances.Reference'
    const { code, bodies } = await feed(`${header}\n"{""note"":""n""}",paper,7\n`)
    expect(code).toBe(0)
    expect(bodies).toEqual([{ site_id: site, circumstances: { note: 'n', method: 'paper', reference: '7' } }])
    const mapped = await feed('How,Who\nphone,a\n', '--map', 'circumstances.method=How,subject_id=Who')
    expect(mapped.bodies.at(-1)).toEqual({ site_id: site, subject_id: 'a', circumstances: { method: 'phone' } })
    const refused = await feed('circumstances.method\nfax\n')
    expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('circumstances.method')])
  })

  it.each([
    ['true', true],
    ['3', 3],
    ['granted', 'granted'],
    ['"[1,null]"', [1, null]],
  ])('reads the preference %s with the type that --pref would give it', async (cell, value) => {
    const { bodies } = await feed(`pref.a\n${cell}\n`)
    expect(bodies[0]?.['preferences']).toEqual({ a: value })
  })

  it.each([
    ['CRLF and a byte order mark', '\ufeffsubject_id\r\na\r\nb\r\n', ['a', 'b'], [2, 3]],
    ['blank lines', 'subject_id\n\na\n\n\nb\n', ['a', 'b'], [3, 6]],
    ['lines of blanks alone', ' \nsubject_id\n \t\r\na\n" "\n  ', ['a', ' '], [4, 5]],
    ['a cell of several lines', 'subject_id\n"a\r\n\nb"\nc\n', ['a\r\n\nb', 'c'], [2, 5]],
    ['no end of the last line', 'subject_id\na', ['a'], [2]],
    ['a header alone', 'subject_id\n', [], []],
    ['nothing', '', [], []],
  ])('reads %s', async (_, csv, subjects, lines) => {
    const { code, bodies, stdout } = await feed(csv, '-o', 'ndjson')
    expect(code).toBe(subjects.length > 0 ? 0 : 5)
    expect(bodies.map(body => body['subject_id'])).toEqual(subjects)
    expect(ndjson(stdout).map(row => row.line)).toEqual(lines)
  })

  it.each([
    ['a,b,c', 'line 3 has 3 cells, and the header 2'],
    ['a', 'line 3 has 1 cells, and the header 2'],
    ['a"b,', 'line 3 has a quotation mark within'],
    ['"a"b,', 'line 3 has text after a closing quotation mark'],
    ['a,maybe', 'line 3: accepted: "maybe" is neither yes nor no'],
  ])('reports %s with its line number, and sends the other lines', async (bad, problem) => {
    const odd = bad.split('"').length % 2 === 0
    const { code, stderr, bodies } = await feed(`subject_id,accepted\na,true\n${bad}\n${odd ? '"' : ''}c,true\n`)
    expect(code).toBe(8)
    expect(stderr).toContain(problem)
    expect(bodies).toHaveLength(odd ? 1 : 2)
  })

  it('reports invalid UTF-8 with its line number, and never repairs it', async () => {
    expectExit(await feed(Buffer.from('subject_id\na\nzo\xeb\n', 'latin1')), 8, 'line 3 is not valid UTF-8')
  })

  it.each([
    ['subject_id,id', '"id" is not a field of a new record'],
    ['subject_id|accepted', '"subject_id|accepted" is not a field'],
    ['subject_id\raccepted', 'end with CR only'],
    ['Subject;Accepted', '"Subject" is not a field'],
    ['subject_id,', '"column 2" is not a field'],
    ['s\0u\0b\0,\0', 'UTF-16 without a byte order mark'],
    ['pref.', 'is not a field'],
    ['pref.__proto__', 'is not a field'],
    ['accepted, Accepted', 'twice'],
  ])('exits with a usage error that names the column for the header %s', async (header, problem) => {
    expectUnsent(cli, await feed(`${header}\na,b\n`), problem)
  })

  it.each([['subject_id,accepted'], ['\ufeff"subject_id"'], ['id,site_id,created_at'], ['pref.a , x\r']])(
    'when a CSV with the header %s is read as NDJSON, reports one error that names --format csv',
    async header => {
      const csv = `\n${header}\n${'a,true\n'.repeat(300)}`
      const file = join(folder.path, 'records.txt')
      writeFileSync(file, csv)
      for (const source of ['-', file]) {
        const { code, stdout, stderr } = await cli.run(['create', '--file', source, '--site', site], {
          stdin: csv,
        })
        expect([code, stdout, stderr.match(/line \d+/g)]).toEqual([2, '', ['line 2']])
        expect(stderr).toContain('looks like a CSV header, so nothing was sent')
        expect(stderr).toContain('--format csv')
      }
      expect(cli.sent()).toEqual([])
    },
  )

  it.each([
    'a,b',
    '{"subject_id":"a"',
    '{"a":1, accepted, "b":2}',
    ' {"note":"x,accepted,y"}',
    '["a","accepted","b"]',
    '{"x":1,"accepted":true}',
  ])('does not treat an invalid line of NDJSON as a header: %s', async bad => {
    const { code, stderr } = await cli.run(['create', '--file', '-', '--site', site], {
      stdin: `${bad}\n${bad}\n`,
    })
    expect([code, stderr.match(/line \d+/g)]).toEqual([5, ['line 1', 'line 2']])
  })

  it('keeps the formula guard as text, and removes it with --csv-unguard', async () => {
    expect((await feed("subject_id\n'=1+1\n")).bodies[0]?.['subject_id']).toBe("'=1+1")
    const { bodies } = await feed("subject_id\n'=1+1\n'quoted\n", '--csv-unguard')
    expect(bodies.slice(1).map(body => body['subject_id'])).toEqual(['=1+1', "'quoted"])
  })

  it('with --csv-unguard creates records from the output of list', async () => {
    const texts = [
      '=x',
      "'=x",
      "''=x",
      '-1',
      "'-y",
      '@z',
      '+1',
      '＝1',
      "'＝1",
      "'plain",
      "''",
      '\ttab',
      'a,b "c"',
      '\r\n',
    ]
    const data = texts.map((text, index) => consent({ id: uuid(index), subject_id: text }))
    cli.instance.use(http.get(consentsPath, () => HttpResponse.json({ data, next_cursor: null })))
    const printed = await cli.run(['list', '-o', 'csv', '--columns', 'site_id,subject_id'])
    const { code, bodies } = await feed(printed.stdout, '--csv-unguard')
    expect(code).toBe(0)
    expect(bodies.slice(1).map(body => body['subject_id'])).toEqual(texts)
  })
})
