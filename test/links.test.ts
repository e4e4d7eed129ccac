import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

const git = ['ls-files', '--cached', '--others', '--exclude-standard']
const cloned = execFileSync('git', git, { cwd: root, encoding: 'utf8' }).trim().split('\n')

const npm = ['pack', '--dry-run', '--ignore-scripts', '--json']
const [pack] = JSON.parse(execFileSync('npm', npm, { cwd: root, encoding: 'utf8', stdio: 'pipe' }))
const packed: string[] = pack.files.map(({ path }: { path: string }) => path)

/** Markdown without its code, in which nothing is a link. */
function proseOf(page: string): string {
  return readFileSync(join(root, page), 'utf8')
    .replace(/^```[\s\S]*?^```/gm, '')
    .replace(/`[^`\n]*`/g, code => code.replace(/[[\]<>]/g, ''))
}

/** Anchors as GitHub makes them of headings. */
function anchorsOf(page: string): string[] {
  const counts = new Map<string, number>()
  return [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => {
    const text = heading.replace(/\]\([^)]*\)/g, '').toLowerCase()
    const anchor = text.replace(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')
    const count = counts.get(anchor) ?? 0
    counts.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
}

/** Links of a page to files that are not among the given ones, or to a heading that a page does not have. */
function deadLinks(page: string, files: readonly string[]): string[] {
  const links = [...proseOf(page).matchAll(/\]\(([^)\s]+)[^)]*\)|(?:src|href)="([^"]+)"|^\[[^\]]+\]: (\S+)/gm)]
    .map(([, ...found]) => found.find(Boolean) ?? '')
    .filter(link => !/^[a-z]+:/.test(link))
  return links.filter(link => {
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? page : posix.join(posix.dirname(page), path).replace(/\/$/, '')
    if (!files.some(file => file === target || file.startsWith(`${target}/`))) return true
    return anchor !== undefined && !anchorsOf(target).includes(anchor)
  })
}

const isPage = (file: string) => file.endsWith('.md')

describe('no link is dead', () => {
  it.each(cloned.filter(isPage))('in a clone: %s', page => {
    expect(deadLinks(page, cloned)).toEqual([])
  })

  it.each(packed.filter(isPage))('in the package: %s', page => {
    expect(deadLinks(page, packed)).toEqual([])
  })
})

it('the package contains every file that its pages say to install', () => {
  const told = packed
    .filter(isPage)
    .flatMap(page => readFileSync(join(root, page), 'utf8').match(/\bserver\/deploy\/[\w.]+/g) ?? [])
  expect(told).toContain('server/deploy/consentctl.service')
  for (const file of told) expect(packed).toContain(file)
})
