import { join } from 'node:path'
import { HttpResponse, http, type JsonBodyType, type RequestHandler } from 'msw'
import { expect } from 'vitest'
import type { Consent } from '../../src/contract/index.ts'
import { colors } from '../../src/output/palette.ts'
import { type RunOptions, type RunResult, run, useFolder } from '../support/cli.ts'
import { type Instance, useInstance } from '../support/instance.ts'

/** The key of every test, so that its text can be looked for in all that is printed. */
export const apiKey = 'sk-live-0123456789abcdefghij-a1b2'

export const uuid = (index: number) => `01939d2c-7b1a-7c3e-9a51-${index.toString(16).padStart(12, '0')}`

export const site = uuid(0xabc)

/** A record with every field of the specification. */
export function consent(fields: Partial<Consent> = {}): Consent {
  return {
    id: uuid(1),
    site_id: site,
    consent_id: 'banner-2026',
    subject_id: 'maria@example.com',
    country: 'DE',
    region: 'BE',
    user_agent: 'Mozilla/5.0',
    accepted: true,
    preferences: { marketing: true },
    policy_version: 3,
    created_at: '2026-01-31T09:30:00.000Z',
    updated_at: '2026-01-31T09:30:00.000Z',
    deleted_at: null,
    ...fields,
  }
}

/** An entry of the audit trail, with the fields of the specification alone. */
export function entry(fields: Record<string, unknown> = {}) {
  return {
    id: uuid(2),
    consent_id: uuid(1),
    accepted: true,
    preferences: {},
    policy_version: 1,
    changed_by: 'api_key',
    actor_id: uuid(3),
    created_at: '2026-01-31T09:30:00.000Z',
    ...fields,
  }
}

export const consentsPath = '*/api/v1/consents'
export const byId = `${consentsPath}/:id`

/** Answers with this JSON. */
export function answers(
  method: 'get' | 'post' | 'put' | 'delete' | 'patch',
  path: string,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): RequestHandler {
  return http[method](path, () => HttpResponse.json(body as JsonBodyType, { status, headers }))
}

export function fails(status: number, error: string, message = 'it failed', reason?: string) {
  return HttpResponse.json({ error, message, reason }, { status })
}

/** An instance that does not say who calls. */
export const noCaller = http.get('*/api/v1/caller', () => fails(404, 'not_found'))

/** A list of `count` records: pages by `limit`, cursors that say how many records came before. */
export function listOf(count: number, make = (index: number) => consent({ id: uuid(index) })): RequestHandler {
  return http.get(consentsPath, ({ request }) => {
    const query = new URL(request.url).searchParams
    const start = Number(query.get('cursor')?.slice('after-'.length) ?? 0)
    const end = Math.min(start + Number(query.get('limit') ?? 50), count)
    const data = Array.from({ length: end - start }, (_, index) => make(start + index))
    return HttpResponse.json({ data, next_cursor: end < count ? `after-${end}` : null })
  })
}

export interface Sent {
  readonly method: string
  readonly path: string
  readonly query: Record<string, string>
  /** The body as JSON; undefined where there was none. */
  readonly body: unknown
}

export interface Cli {
  readonly instance: Instance
  readonly env: () => Record<string, string>
  /** Runs with the instance's address and key in the environment. */
  run(args: readonly string[], options?: RunOptions): Promise<RunResult>
  /** Returns the requests of this test. */
  sent(): Sent[]
  /** A new configuration folder. */
  freshFolder(): string
}

export function useCli(): Cli {
  const instance = useInstance()
  const folder = useFolder()
  let folders = 0
  const freshFolder = () => join(folder.path, String(++folders))
  const env = () => ({
    CONSENTCTL_BASE_URL: instance.url,
    CONSENTCTL_API_KEY: apiKey,
    CONSENTCTL_MAX_WAIT: '0', // what is sent again is sent at once
    CONSENTCTL_CONFIG_DIR: join(folder.path, 'unused'),
    CONSENTCTL_STATE_DIR: join(folder.path, 'state'),
  })
  return {
    instance,
    env,
    freshFolder,
    run: (args, options = {}) => run(args, { ...options, env: { ...env(), ...options.env } }),
    sent: () =>
      instance.requests.map(({ method, url, text }) => {
        const { pathname, searchParams } = new URL(url, 'http://instance')
        const body = text === '' ? undefined : JSON.parse(text)
        return { method, path: pathname, query: Object.fromEntries(searchParams), body }
      }),
  }
}

/** A part or a pattern of what stands on stderr, or fields of the one error that a program reads there. */
type Said = string | RegExp | object

/** Expects a run to end with this exit code, and to say all this on stderr. */
export function expectExit({ code, stderr }: Omit<RunResult, 'stdout'>, exit: number, ...said: Said[]): void {
  expect(code, stderr).toBe(exit)
  for (const each of said)
    if (typeof each === 'string') expect(stderr).toContain(each)
    else if (each instanceof RegExp) expect(stderr).toMatch(each)
    else expect(machineError(stderr)).toMatchObject(each)
}

/** Expects the same, and nothing on stdout. */
export function expectNoStdout(ran: RunResult, exit: number, ...said: Said[]): void {
  expectExit(ran, exit, ...said)
  expect(ran.stdout).toBe('')
}

/** Expects a command that was refused before any request, with exit code 2. */
export function expectUnsent(cli: Cli, ran: RunResult, ...said: Said[]): void {
  expectNoStdout(ran, 2, ...said)
  expect(cli.sent()).toEqual([])
}

/** Returns what a run printed as JSON; expects it to end with this exit code, and with this text on stderr if it is given. */
// biome-ignore lint/suspicious/noExplicitAny: JSON
export function jsonOf({ code, stdout, stderr }: RunResult, exit = 0, said = stderr): any {
  expect({ code, stderr }).toEqual({ code: exit, stderr: said })
  return JSON.parse(stdout)
}

/** The bold and the colours that the program prints, and no others. */
export const styles = new RegExp(`\u001b\\[(1|22|39|38;5;(${Object.values(colors).join('|')}))m`, 'g')

/** Streams on a terminal. */
export const screen = { tty: { stdout: true, stderr: true } }

/** Returns the JSON error on stderr. Throws unless stderr is exactly one line. */
export function machineError(stderr: string): Record<string, unknown> {
  const [line = '', ...more] = stderr.split('\n')
  if (more.length !== 1 || more[0] !== '') throw new Error(`not one line: ${JSON.stringify(stderr)}`)
  return JSON.parse(line).error
}

/** Reads lines of JSON. */
// biome-ignore lint/suspicious/noExplicitAny: JSON
export function ndjson<T = any>(text: string): T[] {
  const lines = text.split('\n').filter(Boolean)
  return lines.map(line => JSON.parse(line))
}

/** A filter of arguments that leaves out this flag and its value. */
export const withoutFlag = (flag: string) => (word: string, index: number, all: readonly string[]) =>
  word !== flag && all[index - 1] !== flag

export function words(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')
}

/** Returns the arguments of the command with which a note on stderr says to continue. */
export function resumption(stderr: string): string[] {
  const command = /consentctl (list .*)$/m.exec(stderr)?.[1]
  if (command === undefined) throw new Error(`no command to continue with: ${stderr}`)
  return words(command)
}

/** Terminal controls, which untrusted text must not contain. */
export const acting = /[^\P{Cc}\n]|\p{Cs}|\p{Zl}|\p{Zp}|\p{Bidi_Control}|(?=\p{Cf})\p{Default_Ignorable_Code_Point}/u

/** The same in what was printed; U+FFFD is what half a character becomes there. */
export const dangerous = new RegExp(`${acting.source}|\\ufffd`, 'u')

/** Texts that move the cursor, hide or reorder characters, or break formats; some only look odd. */
export const hostile: Record<string, string> = {
  'a colour': '\u001b[31mred\u001b[0m',
  'a cleared screen': '\u001b[2J\u001b[H',
  'a link (OSC 8)': '\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007',
  'a title (OSC 0)': '\u001b]0;owned\u001b\\',
  'a C1 sequence': '\u009b31mred\u009b0m',
  'a bell and a backspace': 'a\u0007b\bc\u007f',
  NUL: 'a\u0000b',
  'bidirectional controls': 'user\u202egnp.exe\u2066\u2069\u061c',
  'zero-width characters': 'ad\u200bmin\u200c\u200d\u2060\ufeff\u00ad',
  'tags (U+E0041)': 'a\u{e0041}b',
  'a lone high surrogate': 'a\ud800b',
  'a lone low surrogate': '\udc00',
  'line ends': 'a\nb\r\nc\u2028d\u2029e\u0085f\u000bg',
  tabs: 'a\tb\t\tc',
  backslashes: 'a\\tb\\\\n\\u0041',
  'wide characters': '同意記録が日本語で書かれています',
  'an emoji of several': '👩‍👩‍👧‍👦 family',
  'combining characters': 'z\u0351\u036b\u0343a\u0300\u0301\u0302',
  quotes: `"'\`$(id)`,
  'words of JSON': 'null',
}

export const hostileCases = Object.entries(hostile)
