import { describe, expect, it } from 'vitest'
import { hasTerminal, openTerminal } from '../support/terminal.ts'
import { useQuickstart } from './served.ts'

const quickstart = useQuickstart('terminal', hasTerminal)
const { env, run } = quickstart

async function create(): Promise<string> {
  return (await run('create', '--subject', 'maria@example.com', '-q')).stdout.trim()
}

async function isLive(id: string): Promise<boolean> {
  return (await run('get', id)).code === 0
}

describe.skipIf(!hasTerminal)('rm on a terminal', () => {
  it.each([
    ['y', 'y\r', 0],
    ['n', 'n\r', 9],
    ['nothing', '\r', 9],
    ['the end of the input', '\u0004', 9],
    ['Ctrl-C', '\u0003', 130],
  ])('shows the record, prompts, and follows the answer: %s', async (_name, keys, code) => {
    const id = await create()
    const terminal = openTerminal(['rm', id], env())
    await terminal.shows('[y/N]')
    terminal.type(keys)
    const ended = await terminal.ended
    expect(ended.screen).toContain('maria@example.com')
    expect(ended.code).toBe(code)
    expect(await isLive(id)).toBe(code !== 0)
  })

  it('when the input ends before the prompt, deletes nothing', async () => {
    const id = await create()
    const terminal = openTerminal(['rm', id], env())
    terminal.type('\u0004')
    expect((await terminal.ended).code).toBe(9)
    expect(await isLive(id)).toBe(true)
  })

  it('when several records are given, requires their number, and deletes none for any other answer', async () => {
    const ids = [await create(), await create()]
    const refused = openTerminal(['rm', ...ids], env())
    await refused.shows(/2 of site .*Type 2 to delete/s)
    refused.type('y\r')
    expect((await refused.ended).code).toBe(9)
    expect(await Promise.all(ids.map(isLive))).toEqual([true, true])
    const agreed = openTerminal(['rm', ...ids], env())
    await agreed.shows('Type 2 to delete')
    agreed.type('2\r')
    expect((await agreed.ended).code).toBe(0)
    expect(await Promise.all(ids.map(isLive))).toEqual([false, false])
  })
})

describe.skipIf(!hasTerminal)('create without fields on a terminal', () => {
  it('when the input ends after the first answer, exits with 9', async () => {
    const terminal = openTerminal(['create', '--json'], env())
    await terminal.shows('Subject (whose consent it is): ')
    terminal.type('customer-4711\r\u0004')
    expect((await terminal.ended).code).toBe(9)
  })

  it.each([
    ['y', 0, 'true'],
    ['no', 0, 'false'],
    ['perhaps', 9, null],
  ])('prompts for the subject and the answer: %s', async (answer, exit, accepted) => {
    const terminal = openTerminal(['create', '--json'], env())
    await terminal.shows('Subject (whose consent it is): ')
    terminal.type('customer-4711\r')
    await terminal.shows('Did they accept? [y/n] ')
    terminal.type(`${answer}\r`)
    const { code, screen } = await terminal.ended
    expect(code).toBe(exit)
    if (accepted === null) return expect(screen).not.toContain('subject_id')
    expect(screen).toContain('"subject_id": "customer-4711"')
    expect(screen).toContain(`"accepted": ${accepted}`)
  })
})

describe.skipIf(!hasTerminal)('auth login on a terminal', () => {
  it('never echoes the typed key', async () => {
    const terminal = openTerminal(['auth', 'login', '-p', 'other', '--base-url', quickstart.server.url], env())
    await terminal.shows('API key (not shown)')
    terminal.type('sk-secret-of-mine\r')
    const { code, screen } = await terminal.ended
    expect(code).toBe(4)
    expect(screen).not.toContain('secret')
  })
})

describe.skipIf(!hasTerminal)('list on a terminal', () => {
  it('uses the user’s pager with --pager', async () => {
    await create()
    const paged = { ...env(), PAGER: 'sed s/^/paged:/' }
    expect((await openTerminal(['list', '--limit', '1', '--pager'], paged).ended).screen).toMatch(/paged:.*ID/)
    expect((await openTerminal(['list', '--limit', '1'], paged).ended).screen).not.toContain('paged:')
    const missing = await openTerminal(['list', '--limit', '1', '--pager'], {
      ...env(),
      PAGER: 'no-such-pager',
    }).ended
    expect(missing.code).toBe(1)
    expect(missing.screen).toContain('cannot be run')
  })

  it('prints a table with a footer that shows the count', async () => {
    await create()
    const { code, screen } = await openTerminal(['list', '--limit', '1'], env()).ended
    expect(code).toBe(0)
    expect(screen).toMatch(/ID +SUBJECT_ID +ACCEPTED/)
    expect(screen).toMatch(/1 record; to list more: consentctl list --limit 1 --cursor \S+/)
  })
})
