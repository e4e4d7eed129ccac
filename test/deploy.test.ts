import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const root = new URL('../', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, root), 'utf8')

/** Every variable that the server's configuration reads. */
const variables = [...read('server/config.ts').matchAll(/^ {2}([A-Z][A-Z_]+):/gm)].map(
  ([, name]) => name ?? '',
)

/** Those that a file sets and that are not the service's own. */
const foreign = /^(NODE_ENV|CERTIFICATE|POSTGRES_\w+)$/

describe('the operator’s page', () => {
  const page = read('server/README.md')

  it('has every setting in its table, and no other', () => {
    const table = page.match(/^\| `.*$/gm) ?? []
    const named = table.flatMap(row =>
      [...(row.split('|')[1] ?? '').matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, name]) => name ?? ''),
    )
    expect(variables.length).toBeGreaterThan(10)
    expect(named.sort()).toEqual([...variables].sort())
  })

  it('links to what is there', () => {
    const links = [...page.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, path]) => path ?? '')
    expect(links.length).toBeGreaterThan(3)
    expect(links.filter(path => !existsSync(new URL(path, new URL('server/', root))))).toEqual([])
  })
})

describe.each(['Dockerfile', 'compose.yaml', 'consentctl.service'])('%s', file => {
  const text = read(`server/deploy/${file}`).replace(/^\s*#.*$/gm, '')

  it('sets no variable that nobody reads', () => {
    const set = [...text.matchAll(/\b([A-Z][A-Z_]{3,})(?:=|: )/g)].map(([, name]) => name ?? '')
    expect(set.length).toBeGreaterThan(0)
    expect(set.filter(name => !variables.includes(name) && !foreign.test(name))).toEqual([])
  })

  it('names files that are there', () => {
    const paths = [...text.matchAll(/(?:^COPY (?!--from)|dockerfile: |- \.\/|\['\.\/)([\w./-]+)/gm)].map(
      ([, path]) => path ?? '',
    )
    const places = [root, new URL('server/deploy/', root)]
    expect(paths.filter(path => !places.some(place => existsSync(new URL(path, place))))).toEqual([])
  })
})
