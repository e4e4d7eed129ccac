import { describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { useCommands } from '../requests/commands.ts'

const service = useService()
const { run, create } = useCommands(service)
const maria = 'maria@example.com'
const hold = (...args: string[]) => run(['hold', ...args])
const add = async (until = '90d') =>
  JSON.parse(
    (await hold('add', maria, '--reason', 'a claim', '--until', until, '--ticket', 'LEGAL-7', '--json')).stdout,
  )

describe('hold', () => {
  it('when a hold stands, subject erase exits with 5, tells why and leaves no job, and succeeds after its removal', async () => {
    await create(maria)
    const { id, held_until } = await add()
    expect((await hold('list', '-q')).stdout).toBe(`${id}\n`)
    const erased = await run(['subject', 'erase', maria, '--ticket', 'DSR-7', '--yes'])
    expect(erased.code, erased.stderr).toBe(5)
    expect(erased.stderr).toContain(`a legal hold keeps the records of this person until ${held_until}: a claim`)
    expect((await run(['subject', 'find', maria, '-q'])).stdout).toMatch(/^\S+\n$/)
    expect((await hold('remove', id, '--yes', '-q')).stdout).toBe(`${id}\n`)
    expect((await hold('list', '-q')).stdout).toBe('')
    expect((await run(['subject', 'resume', 'last'])).stderr).toContain('no job to resume')
    const again = await run(['subject', 'erase', maria, '--ticket', 'DSR-7', '--yes'])
    expect(again.code, again.stderr).toBe(0)
    const found: { state: string }[] = JSON.parse((await run(['subject', 'find', maria, '--json'])).stdout)
    expect(found.map(({ state }) => state)).toEqual(['deleted'])
  })

  it('when the end is past or the hold unknown, exits with 2 or 3', async () => {
    expect(await hold('add', maria, '--reason', 'a claim', '--until', '2020-01-31')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('2020-01-31 is in the past'),
    })
    expect((await hold('remove', '01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11', '--yes')).code).toBe(3)
  })
})
