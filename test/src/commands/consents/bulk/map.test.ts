import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { consentsPath, expectExit } from '../../../support.ts'
import { fieldsOf, noUsage, useForeignFiles } from './foreign-files.ts'

const { cli, folder, keeping, write, importFile, initMap } = useForeignFiles()

describe('--map-out', () => {
  it('writes every field, the other columns and the values of the first hundred rows, readable only by the owner', async () => {
    const rows = Array.from({ length: 150 }, (_, index) => `${index}@example.com;${index < 100 ? 'Open' : 'Late'};x`)
    const file = write(`E-Mail;Status;Note\n${rows.join('\n')}\n`)
    const { path, map, stderr } = await initMap(file)
    expect(map).toMatchObject({
      fields: { subject_id: 'E-Mail', accepted: 'Status', consent_id: null },
      values: { Open: null },
    })
    expect(stderr).toContain('neither yes nor no: Open')
    expect(stderr).toContain(`consentctl create --file ${file} --map ${path} --dry-run`)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readFileSync(path, 'utf8')).not.toContain('@example.com')
    expect(cli.sent()).toEqual([])
  })

  it('never overwrites a file', async () => {
    const map = write('mine', 'json')
    const ran = await cli.run(['create', '--file', write('email\n'), '--map-out', map])
    expect([ran.code, readFileSync(map, 'utf8')]).toEqual([2, 'mine'])
  })

  it.each([
    ['rejects NDJSON', ['--file', 'x.ndjson'], 'only with CSV and TSV'],
    ['requires a file', [], 'requires --file'],
    ['rejects a file without a header', ['--file', '-', '--format', 'csv'], 'has no header'],
  ])('--map-out %s', async (_, flags, problem) => {
    const ran = await cli.run(['create', ...flags, '--map-out', join(folder.path, 'never.json')], {
      stdin: '',
    })
    expectExit(ran, 2, problem)
  })
})

describe('create --file --map', () => {
  const foreign = 'Name;E-Mail;Status;Since, when\nA;a@example.com;Accepted;1\nB;b@example.com;Rejected;2\n'

  it('accepts pairs of fields and columns, and lists the unused columns once', async () => {
    const sent = keeping()
    const pairs = 'subject_id=e-mail,pref.since=Since, when, accepted=Status'
    const { code, stderr } = await importFile(write(foreign), '--map', pairs)
    expect([code, stderr.match(/not used.*/g)]).toEqual([0, ['not used, because the map does not name them: "Name"']])
    expect(fieldsOf(sent)).toEqual([
      { subject_id: 'a@example.com', accepted: true, preferences: { since: 1 } },
      { subject_id: 'b@example.com', accepted: false, preferences: { since: 2 } },
    ])
  })

  it('has precedence over column names, which apply to fields that the map does not contain', async () => {
    const sent = keeping()
    const file = write('subject_id;email;accepted;pref.a;pref.b\n1;a@example.com;yes;x;y\n')
    const map = write('{"fields":{"subject_id":"email","pref.b":null},"values":{}}', 'json')
    expect(await importFile(file, '--map', map)).toMatchObject({ code: 0 })
    expect(fieldsOf(sent)).toEqual([{ subject_id: 'a@example.com', accepted: true, preferences: { a: 'x' } }])
  })

  it('reports how many lines without an answer record a refusal', async () => {
    keeping()
    const { stderr } = await importFile(write(foreign), '--map', 'subject_id=E-Mail')
    expect(stderr).toContain('every line records a refusal')
    const file = write('email;answer\na@example.com;\nb@example.com;no\nc@example.com;\n')
    const some = await importFile(file, '--map', 'subject_id=email,accepted=answer')
    expect(some.stderr).toContain('without an answer, so recorded as a refusal: 2 lines\n')
  })

  it.each([
    ['a column that is not there', 'subject_id=Mail', 'does not have the column "Mail", which the map requires'],
    ['a field that is none', '{"fields":{"subject":"E-Mail"}}', '"subject" is not a field'],
    ['a column and its field in the wrong order', 'E-Mail=subject_id', '"E-Mail" is not a field'],
    ['no column', 'subject_id=', 'requires a column'],
    ['a field twice', 'accepted=Status,accepted=Name', 'accepted is repeated'],
    ['an unknown key', '{"fields":{},"ignore":["Name"]}', 'ignore'],
    ['a map that is not JSON', 'subject_id', 'is not'],
  ])('with %s stops before anything is sent', async (_, map, problem) => {
    const flag = map.includes('=') ? map : write(map, 'json')
    const { code, stdout, stderr } = await importFile(write(foreign), '--map', flag)
    expect([2, 5]).toContain(code)
    expect(stdout).toBe('')
    expect(stderr).toContain(problem)
    expect(cli.sent()).toEqual([])
  })

  it.each(['accepted', 'pref.news'])('when the map leaves a value of %s undecided, rejects its line', async field => {
    const sent = keeping()
    const file = write('who;answer\nw1;Yes\nw2;nope\n')
    const fields = { subject_id: 'who', [field]: 'answer' }
    const map = write(JSON.stringify({ fields, values: { yes: null, nope: 'no' } }), 'json')
    const undecided = await importFile(file, '--map', map)
    expectExit(undecided, 5, 'line 2: answer: the map leaves "Yes" undecided')
    expect(fieldsOf(sent)).toEqual([])
    const decided = await importFile(file, '--map', map, '--true', 'yes')
    expect(decided, decided.stderr).toMatchObject({ code: 0 })
  })

  it('is rejected for formats other than CSV and TSV', async () => {
    expectExit(await importFile(write('{}', 'ndjson'), '--map', 'accepted=a'), 2, '--format csv')
  })

  it('is stored in the job: a resumed job uses the map it was started with', async () => {
    const file = write('who;answer\na;x\nb;o\n')
    const path = write('{"fields":{"subject_id":"who","accepted":"answer"},"values":{"x":"yes","o":"no"}}', 'json')
    cli.instance.use(
      noUsage,
      http.post(consentsPath, () => HttpResponse.json({ error: 'unauthorized', message: 'no' }, { status: 401 })),
    )
    const first = await importFile(file, '--map', path)
    expect(first, first.stderr).toMatchObject({ code: 4 })
    writeFileSync(path, '{"fields":{"subject_id":"who","accepted":"answer"},"values":{"o":"yes","x":"no"}}')
    const changed = await cli.run(['create', '--resume', 'last', '--map', path])
    expect(changed).toMatchObject({ code: 2 })
    expect(changed.stderr).toContain('started with another map')
    const sent = keeping()
    expect(await cli.run(['create', '--resume', 'last', '--concurrency', '1'])).toMatchObject({ code: 0 })
    expect(fieldsOf(sent)).toEqual([
      { subject_id: 'a', accepted: true },
      { subject_id: 'b', accepted: false },
    ])
  })

  it('can be used again for the lines of --failed-out, which are in UTF-8', async () => {
    const sent = keeping()
    const file = write(Buffer.from('\ufeffWer;Antwort\r\na;ja\r\nrejected;nein\r\n"ü\n2";nein\r\n', 'utf16le'))
    const failed = join(folder.path, 'failed.csv')
    const map = ['--map', 'subject_id=Wer,accepted=Antwort']
    expect(await importFile(file, ...map, '--failed-out', failed)).toMatchObject({ code: 8 })
    const lines = readFileSync(failed, 'utf8')
    expect(lines).toBe('\ufeffWer;Antwort\r\nrejected;nein\r\n')
    writeFileSync(failed, lines.replace('rejected', 'corrected'))
    expect(await importFile(failed, ...map)).toMatchObject({ code: 0 })
    expect(sent.map(record => record['subject_id'])).toEqual(['a', 'ü\n2', 'corrected'])
  })
})

describe('values for yes and no', () => {
  it('are added with --true and --false, with precedence over the common values, also for preferences', async () => {
    const sent = keeping()
    const file = write('subject_id,accepted,pref.a,pref.b\na,Yep,YEP,1\nb,nope,x,no\nc,on,,\n')
    const { code, stderr } = await importFile(file, '--true', ' yep ,x', '--false', 'Nope,on')
    expect(code, stderr).toBe(0)
    expect(fieldsOf(sent)).toEqual([
      { subject_id: 'a', accepted: true, preferences: { a: true, b: 1 } },
      { subject_id: 'b', accepted: false, preferences: { a: true, b: 'no' } },
      { subject_id: 'c', accepted: false },
    ])
    expect(stderr.match(/.*kept as text.*/g)).toEqual([expect.stringContaining('"no" in pref.b')])
  })

  it.each([
    [true, ['Accepted', 'y', 'T', '1', 'Opt In', 'JA', 'oui', 'SÍ', 'Tak', 'wahr', 'ΝΑΙ', 'да', ' yes ']],
    [false, ['Rejected', 'n', 'f', '0', 'opt_out', 'NEIN', 'Non', 'não', 'Nie', 'FALSCH', 'όχι', 'нет']],
  ])('include the common words for %s in European languages', async (accepted, words) => {
    const sent = keeping()
    expect(await importFile(write(`accepted\n${words.join('\n')}\n`))).toMatchObject({ code: 0 })
    expect(fieldsOf(sent)).toEqual(words.map(() => ({ accepted })))
  })

  it.each([
    [['--true', 'a,A ', '--false', 'b,a'], '"a" is listed as both true and false'],
    [['--true', 'a,'], 'a value is empty'],
    [['--true', ''], 'must not be empty'],
  ])('rejects %j with a usage error', async (flags, problem) => {
    expectExit(await importFile(write('accepted\nyes\n'), ...flags), 2, problem)
  })

  it('when 5,000 values are neither, reports three and a count, writes all lines to --failed-out, and sends nothing', async () => {
    const rows = Array.from({ length: 5000 }, (_, index) => `${index};maybe ${index % 7}`)
    const failed = join(folder.path, 'unread.csv')
    const file = write(`who;accepted\ngood;yes\n${rows.join('\n')}\n`)
    const { code, stdout, stderr } = await importFile(file, '--map', 'subject_id=who', '--failed-out', failed)
    expect([code, stdout.split('\n').length]).toEqual([5, 5001])
    expect(stderr.match(/neither yes nor no/g)).toHaveLength(3)
    expect(stderr).toContain('and 4997 more errors like line 3\n')
    expect(stderr).toContain(`correct the file: ${failed} has the lines to correct`)
    expect(readFileSync(failed, 'utf8')).toBe(`who;accepted\n${rows.join('\n')}\n`)
    expect(stderr.split('\n').length).toBeLessThan(10)
    expect(cli.sent()).toEqual([])
  })
})
