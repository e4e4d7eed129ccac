import { EventEmitter } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { parseWhere } from '../../../../src/commands/consents/update-many.ts'
import type { Consent } from '../../../../src/contract/index.ts'
import { byId, consent, consentsPath, expectExit, expectUnsent, fails, useCli, uuid, words } from '../../support.ts'

const cli = useCli()
const terminal = { tty: { stdin: true, stdout: true, stderr: true } }

/** An instance that holds these records, and counts the writes of each. */
function holding(records: readonly Consent[]) {
  const held = new Map(records.map(record => [record.id, record]))
  const writes: string[] = []
  const entries: { id: string; action: string; created_at: string }[] = []
  const happened = (id: string, action: string, at = Date.now()) =>
    void entries.push({ id, action, created_at: new Date(at).toISOString() })
  const answer = (id: string, change: (record: Consent) => Partial<Consent>) => {
    const record = held.get(id)
    if (!record || record.deleted_at) return fails(404, 'not_found')
    held.set(id, { ...record, ...change(record) })
    return HttpResponse.json(held.get(id))
  }
  cli.instance.use(
    http.get(byId, ({ params: { id } }) => answer(String(id), () => ({}))),
    http.put(byId, async ({ params: { id }, request }) => {
      const body = (await request.json()) as Partial<Consent>
      writes.push(`${id}`)
      if (held.has(String(id))) happened(String(id), 'updated')
      return answer(String(id), () => body)
    }),
    http.delete(byId, ({ params: { id } }) => {
      writes.push(`${id}`)
      if (held.get(String(id))?.deleted_at === null) happened(String(id), 'deleted')
      return answer(String(id), () => ({ deleted_at: '2026-02-01T00:00:00.000Z' }))
    }),
    http.get('*/api/v1/consents/:id/history', ({ params: { id } }) => {
      const data = entries.filter(entry => entry.id === id).map(entry => ({ ...entry, consent_id: id }))
      return held.has(String(id)) ? HttpResponse.json({ data }) : fails(404, 'not_found')
    }),
    http.get(consentsPath, ({ request }) => {
      const query = new URL(request.url).searchParams
      const accepted = query.get('accepted')
      const data = [...held.values()].filter(
        record => record.deleted_at === null && (accepted === null || String(record.accepted) === accepted),
      )
      return HttpResponse.json({ data, next_cursor: null })
    }),
    http.get('*/api/v1/usage', () => fails(404, 'not_found')),
  )
  return { held, writes, happened }
}

const three = () => [1, 2, 3].map(n => consent({ id: uuid(n), accepted: n !== 2, preferences: { a: n, b: true } }))
/** Does this instead of a write, and loses the answer, until the returned function is called. */
function losing(
  method: 'put' | 'delete',
  act: (id: string) => void,
  lost: () => Response = () => fails(503, 'unavailable'),
): () => void {
  let isLosing = true
  cli.instance.use(
    http[method](byId, ({ params: { id } }) => {
      if (!isLosing) return undefined
      act(String(id))
      return lost() as HttpResponse<string>
    }),
  )
  return () => {
    isLosing = false
  }
}

const rowsOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map(line => line.split('\t').slice(0, 3))
const fileOf = (name: string, text: string) => {
  const path = join(cli.freshFolder(), '..', `${Math.random()}-${name}`)
  writeFileSync(path, text)
  return path
}

describe('update -', () => {
  it('updates every id, and reports which already had the values', async () => {
    const { held, writes } = holding(three())
    const { code, stdout, stderr } = await cli.run(['update', '-', '--refused'], {
      stdin: [1, 2, 3].map(n => `${uuid(n)}\n`).join(''),
    })
    expect([code, rowsOf(stdout)]).toEqual([
      0,
      [
        ['1', 'updated', uuid(1)],
        ['2', 'unchanged', uuid(2)],
        ['3', 'updated', uuid(3)],
      ],
    ])
    expect(stderr).toContain('updated 2 records on ')
    expect(stderr).toContain('1 already as wanted, 0 failed')
    expect(writes).toEqual([uuid(1), uuid(3)])
    expect([...held.values()].map(({ accepted }) => accepted)).toEqual([false, false, false])
  })

  it('reads one change per line without flags, and merges or replaces preferences', async () => {
    const { held } = holding(three())
    const lines = [
      { id: uuid(1), accepted: false },
      { id: uuid(2), preferences: { a: 9 } },
      { id: uuid(3), preferences: { a: 9 }, replace_preferences: true },
    ]
    const stdin = lines.map(line => `${JSON.stringify(line)}\n`).join('')
    expect(await cli.run(['update', '-'], { stdin })).toMatchObject({ code: 0 })
    expect([...held.values()].map(({ accepted, preferences }) => [accepted, preferences])).toEqual([
      [false, { a: 1, b: true }],
      [false, { a: 9, b: true }],
      [true, { a: 9 }],
    ])
  })

  it('applies changes to one record in line order', async () => {
    const { held, writes } = holding(three())
    const stdin = Array.from({ length: 30 }, (_, n) => `${JSON.stringify({ id: uuid(1), preferences: { n } })}\n`)
    const { code } = await cli.run(['update', '-', '--concurrency', '16'], { stdin: stdin.join('') })
    expect([code, writes.length, held.get(uuid(1))?.preferences?.['n']]).toEqual([0, 30, 29])
  })

  it.each([
    [['update'], 'try: for many records: --file, --where, or - for ids'],
    [['update', '-', '--file', 'x'], '-, --file and --where cannot be combined'],
    [['update', uuid(1), '--file', 'x', '--refused'], 'unexpected argument'],
    [['update', uuid(1), '--refused', '--failed-out', 'x'], '--failed-out requires --file'],
    [['update', uuid(1), '--refused', '--confirm', '1'], '--yes and --confirm require --where'],
    [['update', '-', '--resume', 'last'], 'standard input cannot be resumed'],
    [['update', '-', '--preferences', '-'], 'cannot both be read'],
    [['update', '--where', 'site=x', '--yes'], 'nothing to change'],
    [['update', '--where', 'refused', '--accepted'], 'cannot prompt'],
    [['rm', '--file', '-', '--yes'], 'rm -'],
    [['rm', uuid(1), '--yes', '--fail-fast'], '--fail-fast requires --file'],
  ])('rejects %j before any request', async (args, said) => {
    expectUnsent(cli, await cli.run(args, { stdin: '' }), said)
  })

  it.each([
    ['{"id":"x","acepted":true}', '"acepted" is not a field of a change'],
    ['{"accepted":true}', 'has no id'],
    ['{"id":"x"}', 'changes nothing'],
    ['{"id":"..","accepted":true}', 'not a valid id'],
    ['{"id":"x","accepted":"yes"}', 'must be true or false'],
  ])('rejects a whole file with the line %s', async (line, said) => {
    const file = fileOf('changes.ndjson', `${JSON.stringify({ id: uuid(1), accepted: false })}\n${line}\n`)
    expectExit(await cli.run(['update', '--file', file]), 5, said)
    expect(cli.sent()).toEqual([])
  })
})

describe('update --file', () => {
  it('accepts a CSV with preference columns, as written by list', async () => {
    const { held } = holding(three())
    const file = fileOf('changes.csv', `Id,Accepted,pref.a\n${uuid(1)},no,7\n${uuid(2)},,8\n`)
    expect(await cli.run(['update', '--file', file])).toMatchObject({ code: 0 })
    expect([...held.values()].map(({ accepted, preferences }) => [accepted, preferences?.['a']])).toEqual([
      [false, 7],
      [false, 8],
      [true, 3],
    ])
  })

  it('exits with 8 if some lines fail, writes these to --failed-out, and resumes the rest', async () => {
    const { held, writes } = holding(three())
    const ids = [uuid(1), uuid(9), uuid(3)]
    const file = fileOf('ids.txt', `${ids.join('\n')}\n`)
    const { code, stdout, stderr } = await cli.run(['update', '--file', file, '--pref', 'a=0'])
    expect([code, rowsOf(stdout).map(([, result]) => result)]).toEqual([8, ['updated', 'failed', 'updated']])
    const job = /--resume (\S+)/.exec(stderr)?.[1] ?? ''
    held.set(uuid(9), consent({ id: uuid(9), preferences: {} }))
    expect(await cli.run(['create', '--resume', job])).toMatchObject({ code: 2 })
    expect(await cli.run(['update', '--resume', job, '--pref', 'a=1'])).toMatchObject({ code: 2 })
    const resumed = await cli.run(['update', '--resume', job])
    expect([resumed.code, rowsOf(resumed.stdout).map(([, result]) => result)]).toEqual([0, Array(3).fill('updated')])
    expect(writes).toEqual([uuid(1), uuid(3), uuid(9)])
  })
})

describe('update --resume', () => {
  it('does not change a record that had the wanted values and was changed since', async () => {
    const { held, writes } = holding(three())
    const file = fileOf('ids', `${[1, 9].map(n => uuid(n)).join('\n')}\n`)
    const first = await cli.run(['update', '--file', file, '--accepted'])
    expect([first.code, rowsOf(first.stdout).map(([, result]) => result)]).toEqual([8, ['unchanged', 'failed']])
    held.set(uuid(1), consent({ id: uuid(1), accepted: false }))
    held.set(uuid(9), consent({ id: uuid(9), accepted: false }))
    const job = /--resume (\S+)/.exec(first.stderr)?.[1] ?? ''
    const resumed = await cli.run(['update', '--resume', job])
    expect([resumed.code, rowsOf(resumed.stdout).map(([, result]) => result)]).toEqual([0, ['unchanged', 'updated']])
    expect(resumed.stderr).toMatch(/updated 1 record on \S+, 1 already as wanted/)
    expect(writes).toEqual([uuid(9)])
  })

  it.each([
    ['was lost', () => fails(503, 'unavailable'), 7],
    ['was meaningless', () => HttpResponse.html('<p>hello</p>'), 11],
  ] as const)('resends a line whose response %s, unless its record was changed since', async (_, lost, exit) => {
    const { held, writes, happened } = holding(three())
    happened(uuid(1), 'created', Date.now() - 60_000)
    happened(uuid(3), 'created', Date.now() - 60_000)
    const stopLosing = losing('put', id => id === uuid(1) && happened(id, 'updated'), lost)
    const file = fileOf('ids', `${[1, 3].map(n => uuid(n)).join('\n')}\n`)
    const first = await cli.run(['update', '--file', file, '--refused'])
    const job = /--resume (\S+)/.exec(first.stderr)?.[1] ?? ''
    expect([first.code, held.get(uuid(1))?.accepted]).toEqual([exit, true])
    stopLosing()
    const resumed = await cli.run(['update', '--resume', job])
    expect([resumed.code, rowsOf(resumed.stdout).map(([, result]) => result)]).toEqual([11, ['unknown', 'updated']])
    expect(resumed.stderr).toContain('changed since, by this job or by others')
    expect(first.stderr).toContain('to retry what was not updated')
    expect(resumed.stderr).toContain('1 line may have been updated or not: check with consentctl history before')
    expect(writes).toEqual([uuid(3)])
  })
})

describe('update --where', () => {
  it('updates the records that match the filters of list, after their number is typed', async () => {
    const { held, writes } = holding(three())
    const args = ['update', '--where', 'accepted', '--refused', '-o', 'tsv']
    const declined = await cli.run(args, { ...terminal, stdin: '3\n' })
    expect(declined).toMatchObject({ code: 9, stdout: '' })
    expect(declined.stderr).toMatch(/the change: accepted: no\n.*Type 2 to change these records on /s)
    expect(writes).toEqual([])
    expect(await cli.run(args, { ...terminal, stdin: '2\n' })).toMatchObject({ code: 0 })
    expect(writes.toSorted()).toEqual([uuid(1), uuid(3)])
    expect([...held.values()].map(({ accepted }) => accepted)).toEqual([false, false, false])
    const files = readdirSync(join(cli.env()['CONSENTCTL_STATE_DIR'] ?? '', 'jobs'))
    expect(files.filter(name => !name.includes('.job'))).toEqual([])
  })

  it('when a page contains a record twice, counts and updates it once', async () => {
    const { held, writes } = holding(three())
    cli.instance.use(
      http.get(consentsPath, () =>
        HttpResponse.json({ data: [held.get(uuid(1)), held.get(uuid(1))], next_cursor: null }),
      ),
    )
    const { code, stdout } = await cli.run(['update', '--where', 'accepted', '--refused', '--confirm', '1'])
    expect([code, rowsOf(stdout), writes]).toEqual([0, [['1', 'updated', uuid(1)]], [uuid(1)]])
  })

  it('exits with 10 unless exactly --confirm N are found, and prints the requests with --dry-run', async () => {
    const { writes } = holding(three())
    const run = (...more: string[]) => cli.run(['update', '--where', 'accepted', '--refused', ...more])
    expect(await run('--confirm', '3')).toMatchObject({ code: 10, stdout: '' })
    const dry = await run('--dry-run', '--json')
    expect([dry.code, dry.stderr]).toEqual([0, expect.stringContaining('would change 2 records')])
    const url = (n: number) => expect.stringMatching(`/api/v1/consents/${uuid(n)}$`)
    const body = { accepted: false }
    expect(JSON.parse(dry.stdout)).toEqual([1, 3].map(n => ({ method: 'PUT', url: url(n), body })))
    expect(writes).toEqual([])
    expect(await run('--confirm', '2')).toMatchObject({ code: 0 })
  })

  it('shows the change, the current preferences, and how many records already have the values', async () => {
    holding(three())
    const args = ['update', '--where', 'site=site-1', '--pref', 'a=1', '--pref', 'b=true']
    cli.instance.use(http.get('*/api/v1/sites', () => fails(404, 'not_found')))
    const ran = await cli.run(args, { ...terminal, stdin: 'no\n' })
    expectExit(ran, 9, /ACCEPTED +PREF\.A/, 'the change: a: 1; b: true\n1 of 3 already as wanted')
    const dry = await cli.run([...args, '--dry-run', '--json=body'])
    expect(JSON.parse(dry.stdout)).toEqual([2, 3].map(() => ({ body: { preferences: { a: 1, b: true } } })))
    expect(dry.stderr).toContain('would change 2 records')
    expect(dry.stderr).toContain('1 already as wanted')
  })

  it.each(['--yes', '-qy'])(
    'with %s, resumes with the records that were found, not with those that match now',
    async yes => {
      const { held, writes } = holding(three())
      cli.instance.use(http.put(byId, ({ params: { id } }) => (id === uuid(1) ? undefined : fails(403, 'forbidden'))))
      const first = await cli.run(['update', '--where', 'accepted', '--refused', yes, '--concurrency', '1'])
      expect(first.code).toBe(4)
      const [, command = ''] = /to resume: consentctl (.*)/.exec(first.stderr) ?? []
      expect(command).not.toMatch(/--where|--yes| -\w*y/)
      held.set(uuid(7), consent({ id: uuid(7) }))
      cli.instance.use(
        http.put(byId, async ({ params: { id }, request }) => {
          writes.push(String(id))
          const record = { ...held.get(String(id)), ...((await request.json()) as object) } as Consent
          held.set(String(id), record)
          return HttpResponse.json(record)
        }),
      )
      expect(await cli.run(command.split(' '))).toMatchObject({ code: 0 })
      expect(new Set(writes)).toEqual(new Set([uuid(1), uuid(3)]))
      expect(held.get(uuid(7))?.accepted).toBe(true)
    },
  )

  it.each([
    [['site=Shop,from=2026-01-01'], { site: 'Shop', from: '2026-01-01' }],
    [['accepted=true,site=a'], { accepted: '', site: 'a' }],
    [['subject=a,b,c', 'refused'], { subject: 'a,b,c', refused: '' }],
    [['consent-id=x=y,accepted,to=7d'], { 'consent-id': 'x=y', accepted: '', to: '7d' }],
  ])('parses %j', (texts, filters) => expect(Object.fromEntries(parseWhere(texts))).toEqual(filters))

  it.each([
    '',
    'site',
    'site=',
    'color=red',
    'accepted=false',
    'accepted=',
    'accepted,refused',
    'to=7d,to=8d',
    'deleted',
  ])('rejects %j before any request', async text => {
    expectUnsent(cli, await cli.run(['update', '--where', text, '--refused', '--yes']))
  })
})

describe('a signal during update --file', () => {
  it('before the first request leaves a job, and prints the resume command', async () => {
    const { writes } = holding(three())
    const signals = new EventEmitter()
    cli.instance.use(
      http.get('*/api/v1/usage', () => {
        signals.emit('SIGINT')
        return fails(404, 'not_found')
      }),
    )
    const file = fileOf('ids', `${uuid(1)}\n`)
    const { code, stderr } = await cli.run(['update', '--file', file, '--pref', 'b=false'], { signals })
    expect([code, writes]).toEqual([130, []])
    const [, command = ''] = /^interrupted: nothing was sent; to resume: consentctl (.*)$/m.exec(stderr) ?? []
    expect(await cli.run(words(command))).toMatchObject({ code: 0 })
    expect(writes).toEqual([uuid(1)])
  })

  it('does not send the records whose read it aborted, and reports none as failed', async () => {
    const { writes } = holding(three())
    const signals = new EventEmitter()
    let isHeld = true
    cli.instance.use(
      http.get(byId, async ({ params: { id } }) => {
        if (isHeld && id !== uuid(3)) await new Promise(() => {})
      }),
      http.put(byId, () => {
        setTimeout(() => signals.emit('SIGINT'), 20)
      }),
    )
    const file = fileOf('ids', [1, 2, 3].map(n => `${uuid(n)}\n`).join(''))
    const args = ['update', '--file', file, '--pref', 'b=false']
    const { code, stdout, stderr } = await cli.run(args, { signals })
    expect([code, rowsOf(stdout)]).toEqual([130, [['3', 'updated', uuid(3)]]])
    expect(stderr).toContain('the lines after 3 were not sent, nor were 2 before it\n')
    expect(stderr).toMatch(/updated 1 record on \S+, 0 failed, 2 not updated yet\n/)
    expect(stderr).not.toContain('error:')
    isHeld = false
    const resumed = await cli.run(['update', '--resume', 'last'])
    expect([resumed.code, writes]).toEqual([0, [uuid(3), uuid(1), uuid(2)]])
  })
})

it('when a signal ends update --resume before it sends a line, says so, although an earlier run did', async () => {
  const { writes } = holding(three())
  const stopLosing = losing('put', () => {})
  const file = fileOf('ids', `${uuid(1)}\n`)
  expect(await cli.run(['update', '--file', file, '--pref', 'b=false'])).toMatchObject({ code: 7 })
  stopLosing()
  const signals = new EventEmitter()
  cli.instance.use(
    http.get(byId, async () => {
      signals.emit('SIGINT')
      await new Promise(() => {})
    }),
  )
  expectExit(await cli.run(['update', '--resume', 'last'], { signals }), 130, 'no line was sent in this run\n')
  expect(writes).toEqual([])
})

describe('rm --file', () => {
  it('deletes the records of a file as a job, after the number of lines is confirmed', async () => {
    const { held, writes } = holding(three())
    const file = fileOf('ids', `${[1, 8, 3].map(n => uuid(n)).join('\n')}\n`)
    expect(await cli.run(['rm', '--file', file])).toMatchObject({ code: 2 })
    expect(await cli.run(['rm', '--file', file, '--confirm', '2'])).toMatchObject({ code: 10 })
    const declined = await cli.run(['rm', '--file', file], { ...terminal, stdin: '2\n' })
    expect(declined.code).toBe(9)
    expect(declined.stderr).toMatch(
      new RegExp(`not found: ${uuid(8)}[^]*${uuid(1)}[^]*${uuid(3)}[^]*first 2 of 3 are shown[^]*Type 3 to delete`),
    )
    expect(writes).toEqual([])
    const done = await cli.run(['rm', '--file', file, '--confirm', '3'])
    expect([done.code, rowsOf(done.stdout).map(([, result]) => result)]).toEqual([8, ['deleted', 'failed', 'deleted']])
    expect([...held.values()].map(({ deleted_at }) => deleted_at === null)).toEqual([false, true, false])
    const again = await cli.run(['rm', '--file', file, '--yes', '--ignore-missing'])
    expect([again.code, rowsOf(again.stdout).map(([, result]) => result)]).toEqual([0, Array(3).fill('unchanged')])
  })

  it('accepts the output of list, and rejects a file with a repeated id', async () => {
    const { writes } = holding(three())
    const list = fileOf('list.csv', `id,site_id,accepted\n${uuid(1)},s,true\n${uuid(3)},s,true\n`)
    const done = await cli.run(['rm', '--file', list, '--confirm', '2'])
    expect([done.code, done.stderr]).toEqual([0, expect.stringContaining('not used: "site_id", "accepted"\n')])
    expect(writes).toEqual([uuid(1), uuid(3)])
    const twice = fileOf('ids', `${uuid(2)}\n${uuid(1)}\n${uuid(2)}\n`)
    const refused = await cli.run(['rm', '--file', twice, '--yes'])
    expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('line 3 repeats the id of line 1')])
    expect(writes).toHaveLength(2)
  })

  it('when resumed, does not delete a record restored meanwhile, and reports no missing one as unchanged', async () => {
    const { held, writes, happened } = holding([...three(), consent({ id: uuid(4) })])
    for (const n of [1, 2, 3, 4]) happened(uuid(n), 'created', Date.now() - 60_000)
    const deleted: string[] = []
    const stopLosing = losing('delete', id => {
      if (deleted.includes(id) || ![uuid(1), uuid(2)].includes(id)) return
      deleted.push(id)
      happened(id, 'deleted')
    })
    const ids = [1, 2, 3, 8].map(n => uuid(n))
    const file = fileOf('ids', `${ids.join('\n')}\n`)
    const first = await cli.run(['rm', '--file', file, '--confirm', '4'])
    expect(first.code).toBe(7)
    happened(uuid(2), 'restored')
    held.set(uuid(1), consent({ id: uuid(1), deleted_at: '2026-02-01T00:00:00.000Z' }))
    stopLosing()
    const resumed = await cli.run(['rm', '--resume', 'last'])
    expect([resumed.code, rowsOf(resumed.stdout).map(([, result]) => result)]).toEqual([
      8,
      ['deleted', 'unknown', 'deleted', 'failed'],
    ])
    expect(writes).toEqual([uuid(3)])
  })
})
