import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { longestLine } from '../../../src/io/input.ts'
import { type Claim, encode, encodeEvents, readEntries, readOwnership } from '../../../src/jobs/log.ts'
import { useFolder } from '../../support/cli.ts'

const folder = useFolder()

const claim = (name: string, after: string | null): Claim => ({
  claim: name,
  after,
  read: 1,
  pid: 1,
  host: 'here',
  boot: null,
  started: null,
})
const close = (name: string) => ({ closed: name })

async function ownerAfter(...entries: object[]): Promise<string | null> {
  const path = join(folder.path, 'log')
  writeFileSync(path, [{ job: 'x' }, ...entries].map(encode).join('\n'))
  return (await readOwnership({ path, ifDamaged: '' })).owner?.claim ?? null
}

describe('encodeEvents', () => {
  it('needs several lines for events that are too long for one, and loses none', async () => {
    const events = Array.from({ length: 1500 }, (_, line) => ['d', line, String(line).repeat(400)])
    const text = encodeEvents(events)
    expect(Math.max(...text.split('\n').map(line => line.length))).toBeLessThan(longestLine)
    const path = join(folder.path, 'long')
    writeFileSync(path, encode({ job: 'x' }) + text)
    const entries: unknown[] = []
    for await (const entry of readEntries({ path, ifDamaged: '' })) entries.push(entry)
    expect(entries.slice(1)).toEqual(events)
  })
})

describe('readOwnership', () => {
  it('counts the first of several claims after the same owner', async () => {
    expect(await ownerAfter(claim('a', null), claim('b', null))).toBe('a')
    expect(await ownerAfter(claim('a', null), claim('b', 'a'), claim('c', 'a'))).toBe('b')
  })

  it('has no owner after the owner has closed, and ignores that others close', async () => {
    expect(await ownerAfter(claim('a', null), close('b'))).toBe('a')
    expect(await ownerAfter(claim('a', null), claim('b', 'a'), close('a'))).toBe('b')
    expect(await ownerAfter(claim('a', null), close('a'))).toBe(null)
    expect(await ownerAfter(claim('a', null), close('a'), claim('b', 'a'))).toBe(null)
    expect(await ownerAfter(claim('a', null), close('a'), claim('b', null))).toBe('b')
  })
})
