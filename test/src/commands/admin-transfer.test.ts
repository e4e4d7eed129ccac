import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { ServerModule } from '../../../src/contract/index.ts'
import { useFolder } from '../../support/cli.ts'
import { expectExit, expectNoStdout, useCli } from '../support.ts'

const cli = useCli()
const folder = useFolder()
const at = (name: string) => join(folder.path, name)

/** A server that exports two lines, and says what it was given to import. */
function serverOf(failure?: Error) {
  const given: string[] = []
  const server: Partial<ServerModule> = {
    exportDatabase: async (_, { write }) => {
      await write('one\n')
      if (failure) throw failure
      await write('two\n')
      return { rows: 2, records: 1 }
    },
    importDatabase: async (_, { source, name }) => {
      let text = ''
      for await (const chunk of source) text += Buffer.from(chunk).toString()
      given.push(name, text)
      return { rows: 2, records: 1 }
    },
  }
  return { given, loadServer: async () => server as ServerModule }
}

describe('admin export', () => {
  it('writes a file that only its owner can read, and reports its contents', async () => {
    const { code, stdout, stderr } = await cli.run(['admin', 'export', at('a')], serverOf())
    expect({ code, stdout, stderr }).toEqual({
      ...{ code: 0, stdout: '' },
      stderr: `exported 1 record, 2 rows in all to ${at('a')}\n`,
    })
    expect(readFileSync(at('a'), 'utf8')).toBe('one\ntwo\n')
    expect(statSync(at('a')).mode & 0o777).toBe(0o600)
  })

  it('when it fails midway, leaves no file', async () => {
    expect((await cli.run(['admin', 'export', at('b')], serverOf(new Error('gone')))).code).toBe(1)
    expect(existsSync(at('b'))).toBe(false)
  })

  it('prints secrets to a terminal only with both flags', async () => {
    const tty = { stdout: true, stderr: true }
    const refused = await cli.run(['admin', 'export', '-'], { ...serverOf(), tty })
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('--force')
    const forced = await cli.run(['admin', 'export', '-', '--force'], { ...serverOf(), tty })
    expect(forced).toMatchObject({ code: 0, stdout: 'one\ntwo\n' })
    expect(await cli.run(['admin', 'export', '-'], serverOf())).toMatchObject({
      code: 0,
      stdout: 'one\ntwo\n',
    })
  })

  it('when the reader closes the pipe, fails', async () => {
    const stdout = new Writable({
      write: (_chunk, _encoding, callback) => callback(Object.assign(new Error('gone'), { code: 'EPIPE' })),
    })
    expectExit(await cli.run(['admin', 'export', '-'], { ...serverOf(), stdout }), 1, 'closed it before its end')
  })
})

describe('admin import', () => {
  it('reads a file or standard input', async () => {
    writeFileSync(at('c'), 'one\ntwo\n')
    const server = serverOf()
    const ran = await cli.run(['admin', 'import', at('c')], server)
    expectNoStdout(ran, 0, 'imported 1 record, 2 rows in all; run consentctl admin verify')
    expect(await cli.run(['admin', 'import', '-'], { ...server, stdin: 'three\n' })).toMatchObject({
      code: 0,
    })
    expect(server.given).toEqual([at('c'), 'one\ntwo\n', 'standard input', 'three\n'])
  })

  it('when the file does not exist, does not start', async () => {
    const server = serverOf()
    expect(await cli.run(['admin', 'import', at('no')], server)).toMatchObject({ code: 2, stdout: '' })
    expect(server.given).toEqual([])
  })
})
