import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { close, listen } from './net.ts'

export const hasOpenssl = spawnSync('openssl', ['version']).status === 0
if (!hasOpenssl) process.stderr.write('\n*** SKIPPED: timestamps. There is no openssl. ***\n\n')
if (!hasOpenssl && process.env['CI']) throw new Error('CI needs openssl')

const settings = `
[req]
distinguished_name = name
[name]
[authority]
extendedKeyUsage = critical,timeStamping
[ca]
basicConstraints = critical,CA:true
[tsa]
default_tsa = own
[own]
serial = serial
crypto_device = builtin
signer_cert = tsa.pem
signer_key = tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
`

/** A time-stamping authority of openssl's own, with a certificate by its own root. */
export interface Authority {
  /** Its folder, and in it the root's certificate. */
  readonly folder: string
  readonly caFile: string
  /** What a timestamp is made by. */
  reply(query: Buffer): Buffer
}

/** With a root of its own by default. A negative number of days makes a certificate that has expired. */
export function newAuthority(
  folder: string,
  { root, days = 2 }: { readonly root?: Authority; readonly days?: number | undefined } = {},
): Authority {
  mkdirSync(folder, { recursive: true })
  const openssl = (...args: string[]) =>
    execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const file = (name: string, text: string | Buffer) => writeFileSync(join(folder, name), text)
  file('settings', settings)
  file('serial', '01\n')
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-config', 'settings']
  if (root) for (const name of ['ca.key', 'ca.pem']) file(name, readFileSync(join(root.folder, name)))
  else openssl('req', '-x509', ...key, '-extensions', 'ca', '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Root')
  openssl('req', '-new', ...key, '-keyout', 'tsa.key', '-out', 'tsa.csr', '-subj', '/CN=Authority')
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-set_serial', '2', '-extfile', 'settings']
  openssl(
    'x509',
    '-req',
    '-in',
    'tsa.csr',
    ...signed,
    '-extensions',
    'authority',
    '-days',
    `${days}`,
    '-out',
    'tsa.pem',
  )
  return {
    folder,
    caFile: join(folder, 'ca.pem'),
    reply: query => {
      file('query', query)
      openssl('ts', '-reply', '-config', 'settings', '-queryfile', 'query', '-out', 'reply')
      return readFileSync(join(folder, 'reply'))
    },
  }
}

type Answer = (query: Buffer, response: ServerResponse) => void

export interface AuthorityServer {
  url: string
  authority: Authority
  /** How it answers; by default as it should. */
  answer: Answer | null
  readonly queries: Buffer[]
  /** A folder for other authorities. */
  folder: string
}

/** An authority behind HTTP. */
export function useAuthority(): AuthorityServer {
  const used: AuthorityServer = { url: '', authority: null as never, answer: null, queries: [], folder: '' }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const query = Buffer.concat(chunks)
    used.queries.push(query)
    const isRight = request.method === 'POST' && request.headers['content-type'] === 'application/timestamp-query'
    if (!isRight) return void response.writeHead(400).end()
    if (used.answer) return used.answer(query, response)
    response.writeHead(200, { 'content-type': 'application/timestamp-reply' }).end(used.authority.reply(query))
  })
  beforeAll(async () => {
    if (!hasOpenssl) return
    used.folder = mkdtempSync(join(tmpdir(), 'consentctl-authority-'))
    used.authority = newAuthority(join(used.folder, 'own'))
    used.url = `${await listen(server)}/tsr`
  })
  afterAll(async () => {
    if (server.listening) await close(server)
    if (used.folder) rmSync(used.folder, { recursive: true })
  })
  return used
}
