import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { formatNames } from '../../src/output/format.ts'
import { binary, commandLine, quote, start, startProgram } from '../support/cli.ts'
import { recordJson, useLongListInstance } from '../support/long-list-instance.ts'

const instance = useLongListInstance()
const ids = Array.from({ length: 5 }, (_, number) => JSON.parse(recordJson(number)).id as string)

beforeEach(() => {
  Object.assign(instance, { total: 1000, delayMs: 0, requests: 0 })
  instance.deleted.length = 0
})

const env = () => ({
  HOME: '/nowhere',
  CONSENTCTL_BASE_URL: instance.url,
  CONSENTCTL_API_KEY: 'sk-x',
})

/** Runs a line of bash in which `consentctl` is the built executable, with the exit code of its first command. */
async function shell(line: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const command = `consentctl() { ${commandLine([]).map(quote).join(' ')} "$@"; }; ${line}; exit "\${PIPESTATUS[0]}"`
  const { code, stdout, stderr } = await startProgram('bash', ['-c', command], env()).ended
  return { code, stdout, stderr }
}

describe('when the reader closes the pipe', () => {
  it.each(formatNames)('an endless list exits silently with 0: %s', async format => {
    instance.total = Number.MAX_SAFE_INTEGER
    const { code, stderr } = await shell(`consentctl list -o ${format} | head -n 1`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it.each(['--help', '--version', 'list --help'])('%s exits silently with 0', async args => {
    expect(await shell(`consentctl ${args} | exec true`)).toMatchObject({ code: 0, stderr: '' })
  })

  it('a deletion completes', async () => {
    const { code, stderr } = await shell(`consentctl rm ${ids.join(' ')} --yes | true`)
    expect(instance.deleted).toEqual(ids)
    expect(code).toBe(0)
    expect(stderr).toContain('deleted 5 records')
  })
})

describe.skipIf(!existsSync('/dev/full'))('when stdout is on a full disk', () => {
  it.each(formatNames)('an endless list exits with 1 and an error: %s', async format => {
    instance.total = Number.MAX_SAFE_INTEGER
    const { code, stderr } = await shell(`consentctl list -o ${format} > /dev/full`)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^(error: |\{"error":).*cannot write the output.*ENOSPC/)
  })

  it('a deletion completes, then exits with an error', async () => {
    const { code, stderr } = await shell(`consentctl rm ${ids.join(' ')} --yes > /dev/full`)
    expect(instance.deleted).toEqual(ids)
    expect(code).toBe(1)
    expect(stderr).toContain('deleted 5 records')
    expect(stderr).toContain('cannot write the output')
  })

  it('--help and --version exit with an error', async () => {
    expect((await shell('consentctl --help > /dev/full')).code).toBe(1)
    expect((await shell('consentctl --version > /dev/full')).code).toBe(1)
  })

  it('when only stderr is on it, the exit code is unchanged', async () => {
    expect((await shell('consentctl none 2> /dev/full')).code).toBe(2)
  })
})

describe('when a standard stream is closed', () => {
  it('rm - reads no ids from stdin and deletes nothing', async () => {
    expect(await shell('consentctl rm - --yes -q <&-')).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(instance.deleted).toEqual([])
  })

  it('records are printed in full when stderr is closed', async () => {
    const { code, stdout } = await shell('consentctl list -q 2>&-')
    expect(code).toBe(0)
    expect(stdout.trimEnd().split('\n')).toHaveLength(1000)
  })
})

describe.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('on %s', (signal, expected) => {
  it('stops a list after the printed records, and prints the command that continues it without a gap', async () => {
    instance.delayMs = 20
    const { child, ended } = start(['list', '-o', 'id'], env())
    child.stdout.once('data', () => child.kill(signal))
    const { code, stdout, stderr } = await ended
    expect(code).toBe(expected)
    expect(stdout.endsWith('\n')).toBe(true)
    const command = /^try: (consentctl list .*--cursor \d+)$/m.exec(stderr)?.[1] ?? ''
    instance.delayMs = 0
    const rest = await shell(command)
    expect(rest.code).toBe(0)
    const all = (stdout + rest.stdout).trimEnd().split('\n')
    expect(all).toHaveLength(1000)
    expect(new Set(all).size).toBe(1000)
  })

  it('aborts a request without a response immediately', async () => {
    instance.delayMs = Number.POSITIVE_INFINITY
    const { child, ended } = start(['get', ids[0] ?? ''], env())
    await vi.waitFor(() => expect(instance.requests).toBe(1), { timeout: 30_000, interval: 10 })
    const told = Date.now()
    child.kill(signal)
    const { code, stderr } = await ended
    expect(code).toBe(expected)
    expect(stderr).toContain('interrupted')
    expect(Date.now() - told).toBeLessThan(1000)
  })

  it('finishes the current deletion, starts no other, and lists the remaining ones', async () => {
    instance.delayMs = 300
    const { child, ended } = start(['rm', ...ids, '--yes', '-o', 'id'], env())
    child.stdout.once('data', () => child.kill(signal))
    const { code, stdout, stderr } = await ended
    expect(code).toBe(expected)
    expect(stdout.trimEnd().split('\n')).toEqual(instance.deleted)
    expect(instance.deleted.length).toBeLessThan(ids.length)
    expect(stderr).toContain(ids[instance.deleted.length])
  })

  it('when sent twice, ends the process', async () => {
    instance.delayMs = Number.POSITIVE_INFINITY
    const { child, ended } = start(['rm', ids[0] ?? '', '--yes'], env())
    await vi.waitFor(() => expect(instance.requests).toBe(1), { timeout: 30_000, interval: 10 })
    child.kill(signal)
    await delay(200)
    expect(child.exitCode).toBe(null)
    child.kill(signal)
    expect((await ended).signal).toBe(signal)
  })
})

// Flags of V8 are for Node.js alone.
describe.skipIf(process.env['CONSENTCTL_TEST_BINARY'])('memory of a list', () => {
  const isLong = process.env['CONSENTCTL_TEST_LONG'] === '1'

  /** The most that a list of this many records takes, in MB. V8 lets a young heap grow for want of a reason not to. */
  async function peak(total: number, ...more: string[]): Promise<number> {
    instance.total = total
    const limits = [
      '--max-old-space-size=64',
      ...more,
      '--require',
      fileURLToPath(new URL('../support/print-peak-memory.cjs', import.meta.url)),
    ]
    const child = spawn(process.execPath, [...limits, binary, 'list', '-o', 'ndjson'], {
      env: { PATH: process.env['PATH'], ...env() },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let lines = 0
    child.stdout.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) lines += 1
    })
    let stderr = ''
    child.stderr.on('data', chunk => {
      stderr += String(chunk)
    })
    const [code] = await once(child, 'close')
    expect({ code, lines }).toEqual({ code: 0, lines: total })
    return Number(/^peak (\d+)$/m.exec(stderr)?.[1]) / 1024
  }

  it('does not grow with the length of the list', { timeout: 600_000 }, async () => {
    // Some versions of Node.js grow once, before record 60,000.
    const [fewer, total] = [60_000, isLong ? 1_000_000 : 120_000]
    const whole = await peak(total)
    const [few, many] = [await peak(fewer, '--max-semi-space-size=1'), await peak(total, '--max-semi-space-size=1')]
    const told = [whole, few, many].map(megabytes => megabytes.toFixed(1))
    process.stderr.write(
      `memory for ${total} records: ${told[0]} MB; without a growing young heap, ${fewer} take ${told[1]} MB, all ${told[2]} MB\n`,
    )
    expect(whole).toBeLessThan(100)
    expect(many / few).toBeLessThan(1.2)
  })
})
