import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '../server/config.ts'
import { createMetrics } from '../server/metrics/metrics.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const page = read('server/README.md')
const pages = [page, read('server/operations.md'), read('server/api.md')].join('\n')
const dockerfile = read('server/deploy/Dockerfile')
const compose = read('server/deploy/compose.yaml')
const unit = read('server/deploy/consentctl.service')
const proxy = read('server/deploy/haproxy.cfg')

/** What a pattern's one group matches in a text, without repetitions. */
function all(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, found = '']) => found))].sort()
}

/** The variables that the server reads, from the schema they are read by. */
const settings = all(read('server/config.ts').split('z.object({')[1]?.split('\n})')[0] ?? '', /^ {2}([A-Z_]+):/gm)

/** Seconds that the service may take to stop, by its own promise. */
const drain = 10

describe('the page for operators', () => {
  const list = page.split('## Settings')[1]?.split('\n## ')[0] ?? ''
  const rows = [...list.matchAll(/^- (`[A-Z][A-Z_`, ]+`) \((.*?)\):/gm)].map(([, names = '', values = '']) => ({
    names: all(names, /`([A-Z_]+)`/g),
    values: values.replaceAll('`', '').split(', '),
    order: [...names.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name),
  }))

  it('lists exactly the settings that exist', () => {
    expect(settings).toContain('DATABASE_URL')
    expect(rows.flatMap(({ names }) => names).sort()).toEqual(settings)
  })

  it('states the default of each unset setting', () => {
    const literals = rows
      .filter(({ order, values }) => order.length === values.length)
      .flatMap(({ order, values }) => order.map((name, index) => [name, values[index] ?? ''] as const))
      .filter(([, value]) => /^[\w.]*(\d|info|truncated)$/.test(value))
    expect(literals.map(([name]) => name).sort()).toEqual([
      ...[
        'CHECKPOINT_MINUTES',
        'HOST',
        'IP_STORAGE',
        'LOG_LEVEL',
        'METRICS_HOST',
        'PORT',
        'PUBLIC_RATE_PER_ADDRESS',
        'PUBLIC_RATE_PER_SITE',
        'PURGE_AFTER_DAYS',
        'WATCHDOG_SECONDS',
      ],
    ])
    for (const [name, value] of literals) expect(readConfig({}, { [name]: value })).toEqual(readConfig({}, {}))
  })

  it('names only variables that exist', () => {
    const named = all(pages, /\b([A-Z]{2,}(?:_[A-Z]+)+)\b/g)
    expect(
      named.filter(
        name =>
          !settings.includes(name.replace(/^(.*_URL|SESSION_SECRET)_FILE$/, '$1')) &&
          !compose.includes(name) &&
          !pages.includes(`$${name}`),
      ),
    ).toEqual([])
  })

  it('lists exactly the metrics that exist', async () => {
    const own = all(await createMetrics().registry.metrics(), /^# TYPE ((?:http|consentctl)_\w+)/gm)
    expect(all(page, /`((?:http|consentctl)_[a-z_]+)[`{]/g)).toEqual(own)
  })
})

describe('the image', () => {
  it('uses only files that exist', () => {
    const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) =>
      files.split(' '),
    )
    expect(sources).toContain('package-lock.json')
    expect(sources.filter(file => !existsSync(join(root, file)))).toEqual([])
  })

  it('contains every input of the build', () => {
    for (const folder of ['bin', 'src', 'server'])
      expect(dockerfile).toMatch(new RegExp(`^COPY ${folder} ${folder}$`, 'm'))
  })

  it('receives exactly the files that the build copies', () => {
    const kept = all(read('server/deploy/Dockerfile.dockerignore'), /^!(\S+)$/gm)
    const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) =>
      files.split(' '),
    )
    expect(kept).toEqual([...new Set(sources.map(file => file.split('/')[0]))].sort())
  })

  it('sets variables that the server reads', () => {
    const line = /^ENV (.+)$/m.exec(dockerfile)?.[1] ?? ''
    expect(all(line, /(\w+)=/g).filter(name => name !== 'NODE_ENV' && !settings.includes(name))).toEqual([])
  })

  it('keeps the data folder in a volume, which its user owns', () => {
    const data = /CONSENTCTL_DATA_DIR=(\S+)/.exec(dockerfile)?.[1]
    expect(/^VOLUME (.+)$/m.exec(dockerfile)?.[1]).toBe(data)
    expect(dockerfile.indexOf(`--mode=700 ${data}`)).toBeGreaterThan(0)
    expect(dockerfile.indexOf('VOLUME')).toBeGreaterThan(dockerfile.indexOf(`--mode=700 ${data}`)) // later changes are lost
  })

  it('is built with its commit hash', () => {
    expect(dockerfile.indexOf('ARG CONSENTCTL_COMMIT')).toBeGreaterThan(0)
    expect(dockerfile.indexOf('ARG CONSENTCTL_COMMIT')).toBeLessThan(dockerfile.indexOf('RUN npm run build'))
    expect(compose).toMatch(/^ +args:\n +CONSENTCTL_COMMIT: /m)
  })

  it('does not run as root, and runs on a version of Node.js that the package allows', () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '))
    expect(/^USER (.+)$/m.exec(last)?.[1]).toBe('node')
    expect(all(dockerfile, /^FROM node:(\d+)-/gm)).toHaveLength(1)
    expect(Number(all(dockerfile, /^FROM node:(\d+)-/gm)[0])).toBeGreaterThanOrEqual(20)
  })
})

describe('the compose file', () => {
  it('publishes ports on the loopback address unless BIND is set', () => {
    const ports = /^ {4}ports:\n((?: {6}- .*\n)+)/m.exec(compose)?.[1] ?? ''
    expect(all(ports, /^ +- (.+)$/gm)).toHaveLength(2)
    expect(all(ports, /^ +- \$\{BIND:-127\.0\.0\.1\}:(\d+):\d+$/gm)).toHaveLength(2)
  })

  it('signs with the key in the file SIGNING_KEY, if it is set', () => {
    const [file] = all(compose, /SIGNING_KEY_FILE: \$\{SIGNING_KEY:\+(\S+)\}/g)
    expect(file).toBeDefined()
    expect(all(compose, /- \$\{SIGNING_KEY:-\/dev\/null\}:(\S+):ro/g)).toEqual([file])
  })

  it('sets variables that the server reads', () => {
    const own = /^x-server:.+?^services:/ms.exec(compose)?.[0] ?? ''
    const set = all(own.split('environment:')[1] ?? '', /^ {4}([A-Z_]+):/gm)
    expect(set).toContain('DATABASE_URL')
    expect(set.filter(name => !settings.includes(name))).toEqual([])
  })

  it('refers only to files that exist', () => {
    const here = join(root, 'server/deploy')
    const context = join(here, all(compose, /^ +context: (\S+)$/gm)[0] ?? '')
    expect(relative(root, context)).toBe('')
    const files = [
      ...all(compose, /^ +dockerfile: (\S+)$/gm).map(file => join(context, file)),
      ...all(compose, /^ +- (\.\/[^:]+):/gm).map(file => join(here, file)),
    ]
    expect(files).toHaveLength(2)
    expect(files.filter(file => !existsSync(file))).toEqual([])
  })

  it('pins image versions', () => {
    const images = all(compose, /^ +image: (\S+)$/gm).filter(image => image !== 'consentctl')
    expect(images).toHaveLength(2)
    expect(images.filter(image => !/^\w+:\d/.test(image))).toEqual([])
  })

  it('makes the service trust only its proxy, and lists its nodes in the proxy', () => {
    const addresses = [...compose.matchAll(/ipv4_address: (\S+)/g)].map(([, address]) => address)
    expect(all(compose, /TRUST_PROXY: (\S+)/g)).toEqual([addresses.at(-1)])
    expect(all(compose, /NODE_\d: (\S+):/g)).toEqual(addresses.slice(0, -1))
    expect(all(compose, /NODE_\d: \S+:(\d+)/g)).toEqual(all(dockerfile, /PORT=(\d+)/g))
    for (const name of all(compose, /^ {6}(NODE_\d|CERTIFICATE):/gm)) expect(proxy).toContain(`\${${name}}`)
  })

  it('gives a node enough time to finish its requests', () => {
    expect(Number(/stop_grace_period: (\d+)s/.exec(compose)?.[1])).toBeGreaterThan(drain)
  })
})

describe('the proxy', () => {
  it('checks that a node is ready, and overwrites a client address sent in the request', () => {
    expect(proxy).toContain('uri /ready')
    expect(proxy).toContain('del-header X-Forwarded-For')
    for (const name of ['X-Forwarded-Host', 'X-Forwarded-Proto']) expect(proxy).toContain(`set-header ${name} `)
  })
})

describe('the systemd unit', () => {
  it('sets variables that the server reads, and gives it time to finish its requests', () => {
    const set = all(unit, /^Environment=(\w+)=/gm)
    expect(set.filter(name => name !== 'NODE_ENV' && !settings.includes(name))).toEqual([])
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(drain)
  })

  it('links the page that documents its settings', () => {
    const paths = all(unit, /(server\/[\w./]+\w)/g)
    expect(paths.filter(path => !existsSync(join(root, dirname(path))) || !existsSync(join(root, path)))).toEqual([])
  })
})

describe('the alerting rules', () => {
  const { groups } = parse(read('server/deploy/alerts.yaml'))
  const rules: { alert: string; expr: string; annotations: { summary: string } }[] = groups[0].rules

  it('use metrics and jobs that exist, and each has a summary', async () => {
    const known = (await createMetrics().registry.getMetricsAsJSON()).map(({ name }) => name)
    const used = rules.flatMap(({ expr }) => all(expr, /\b((?:http|consentctl|nodejs)_[a-z\d_]+)/g))
    expect(used.length).toBeGreaterThan(10)
    for (const name of used) expect(known).toContain(name.replace(/_bucket$/, ''))
    const jobs = rules.flatMap(({ expr }) => all(expr, /task="([^"]+)"/g))
    for (const job of jobs) expect(page).toContain(`\`${job}\``)
    for (const { annotations } of rules) expect(annotations.summary).toMatch(/^[A-Z].*\.$|consentctl/)
  })
})
