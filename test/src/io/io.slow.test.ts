import { spawn } from 'node:child_process'
import { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { commandLine, type RunResult } from '../../support/cli.ts'
import { byId, consent, expectExit, listOf, machineError, useCli } from '../support.ts'

const cli = useCli()
const endless = listOf(Number.POSITIVE_INFINITY)

/** Runs a shell line in which `"$@"` is the built executable with these arguments. */
function shell(line: string, args: readonly string[], stdin = ''): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const env = { PATH: process.env['PATH'], ...cli.env() }
    const child = spawn('sh', ['-c', line, 'sh', ...commandLine(args)], { env })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', chunk => (stdout += String(chunk)))
    child.stderr.on('data', chunk => (stderr += String(chunk)))
    child.once('error', reject)
    child.once('close', code => resolve({ code: code ?? -1, stdout, stderr }))
    child.stdin.end(stdin)
  })
}

describe('a reader that goes away', () => {
  it.each(['ndjson', 'tsv', 'json', 'id'])(
    'ends an endless list at once with 0 and nothing on stderr: %s',
    async format => {
      cli.instance.use(endless)
      const { stdout, stderr } = await shell('{ "$@"; echo "exit $?" >&2; } | head -n 1', ['list', '-o', format])
      expect(stdout.split('\n')).toHaveLength(2)
      expect(stderr).toBe('exit 0\n')
      expect(cli.sent().length).toBeLessThan(30)
    },
  )

  it('does not stop work that changes records', async () => {
    cli.instance.use(http.delete(byId, ({ params }) => HttpResponse.json(consent({ id: String(params['id']) }))))
    const ids = Array.from({ length: 30 }, (_, index) => String(index))
    const { stderr } = await shell('{ "$@"; echo "exit $?" >&2; } | exec head -n 1', ['rm', '--yes', '-q', ...ids])
    expect(stderr).toBe('exit 0\n')
    expect(cli.sent()).toHaveLength(30)
  })

  it.each([[['--help']], [['--version']], [['list', '--help']]])('is no error for %j', async args => {
    const { stderr } = await shell('{ sleep 0.2; "$@"; echo "exit $?" >&2; } | exec true', args)
    expect(stderr).toBe('exit 0\n')
  })
})

describe('a full disk', () => {
  const full = (args: readonly string[]) => shell('"$@" >/dev/full', args)

  it.each(['ndjson', 'json', 'tsv'])('ends a list with 1 and an error, after one page: %s', async format => {
    cli.instance.use(endless)
    const ran = await full(['list', '-o', format])
    expectExit(ran, 1, 'ENOSPC')
    expect(ran.stderr).not.toMatch(/^ +at /m)
    if (format !== 'tsv') expect(machineError(ran.stderr)).toMatchObject({ code: 'io', exit: 1 })
    expect(cli.sent().length).toBeLessThanOrEqual(2)
  })

  it('ends help with 1 and an error in one line', async () => {
    const ran = await full(['--help'])
    expectExit(ran, 1, 'ENOSPC')
    expect(ran.stderr).not.toMatch(/^ +at /m)
  })

  it('behind stderr does not change the exit code', async () => {
    cli.instance.use(http.get(byId, () => HttpResponse.json({ error: 'not_found', message: 'x' }, { status: 404 })))
    expect(await shell('"$@" 2>/dev/full', ['get', '7'])).toMatchObject({ code: 3, stdout: '' })
  })
})

describe('a list is written as it comes', () => {
  /** A stdout that notes how many requests had been sent at each write, and takes its time. */
  function slow(milliseconds = 0) {
    const writes: { readonly bytes: number; readonly requests: number }[] = []
    const stdout = new Writable({
      highWaterMark: 1,
      write: async (chunk: Buffer, _encoding, callback) => {
        writes.push({ bytes: chunk.length, requests: cli.sent().length })
        if (milliseconds) await delay(milliseconds)
        callback()
      },
    })
    return { writes, stdout }
  }

  it.each(['ndjson', 'json', 'tsv', 'id', 'table'])(
    '%s: no page waits for another one, and none but the next one is asked for before it is needed',
    async format => {
      cli.instance.use(listOf(500))
      const { writes, stdout } = slow(5)
      expect(await cli.run(['list', '--all', '-o', format], { stdout })).toMatchObject({ code: 0 })
      const pages = writes.filter(({ bytes }) => bytes > 1000)
      expect(pages).toHaveLength(5)
      for (const [before, { requests }] of pages.entries()) {
        expect(requests).toBeGreaterThan(before)
        expect(requests).toBeLessThanOrEqual(before + 2)
      }
    },
  )

  it('while 50,000 records are read, at most one page is held', async () => {
    cli.instance.use(listOf(50_000))
    const { writes, stdout } = slow()
    const { code, stderr } = await cli.run(['list', '-o', 'ndjson', '--concurrency', '1'], { stdout })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(writes).toHaveLength(500)
    expect(writes[0]?.requests).toBe(1)
    expect(Math.max(...writes.map(({ bytes }) => bytes))).toBeLessThan(100_000)
    expect(writes.every(({ requests }, index) => requests === index + 1)).toBe(true)
  })
})

it('standard input that is closed is empty input', async () => {
  expect(await shell('"$@" <&-', ['rm', '-', '--yes', '-q'])).toMatchObject({ code: 0, stderr: '' })
})

it('a pipe gets every byte before the end', async () => {
  cli.instance.use(listOf(2000))
  const { code, stdout } = await shell('"$@" | cat', ['list', '-o', 'ndjson'])
  expect(code).toBe(0)
  expect(stdout.trimEnd().split('\n')).toHaveLength(2000)
})
