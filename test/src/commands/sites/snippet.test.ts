import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bannerNames, placeholders, scriptElement, snippetFor, snippetParts } from '../../../../src/domain/snippets.ts'
import { useFolder } from '../../../support/cli.ts'
import { newToken, siteOf, sitesPath } from '../../session-fixtures.ts'
import { answers, expectUnsent, useCli } from '../../support.ts'

const cli = useCli()
const folder = useFolder()

const listing = (fields = {}) => cli.instance.use(answers('get', sitesPath, { data: [siteOf(fields)] }))
const snippet = (...more: string[]) => cli.run(['sites', 'snippet', 'Shop', ...more])

describe('snippetFor', () => {
  it.each(bannerNames)(
    'returns for %s the recorder and at most twenty lines of its own, each at most 120 characters',
    name => {
      const snippet = snippetFor(name)
      expect(snippet).toBe(snippetParts.recorder + snippetParts[name])
      const lines = snippetParts[name].trimEnd().split('\n')
      expect(lines.length).toBeLessThanOrEqual(20)
      expect(snippet.split('\n').filter(line => line.length > 120)).toEqual([])
    },
  )

  it('is loaded by a line whose hash is in the manual, for a Content Security Policy', () => {
    const page = readFileSync(new URL('../../../../server/banner/README.md', import.meta.url), 'utf8')
    const [, line = ''] = /<script type="module">(.*)<\/script>/.exec(scriptElement) ?? []
    expect(page).toContain(scriptElement)
    expect(page).toContain(`sha256-${createHash('sha256').update(line).digest('base64')}`)
  })
})

describe('sites snippet', () => {
  it.each(bannerNames)('prints the snippet for %s with the address of the instance and the token', async name => {
    listing({ allowed_origins: ['https://shop.example'] })
    const { code, stdout, stderr } = await snippet('--for', name, '--site-token', newToken)
    const note = `note: only this machine reaches ${cli.instance.url}: replace it in the script by the public address of the service\n`
    expect({ code, stderr }).toEqual({ code: 0, stderr: note })
    const { service, token } = placeholders
    const expected = snippetFor(name).replace(service, cli.instance.url).replace(token, newToken)
    expect(stdout).toBe(expected)
    expect(stdout).not.toBe(snippetFor(name))
  })

  it('leaves a placeholder without a token, and says how to get one and which pages are not yet allowed', async () => {
    listing({ allowed_origins: [] })
    const { code, stdout, stderr } = await snippet('--for', 'klaro')
    expect([code, stdout.includes("'st-YOUR-SITE-TOKEN'")]).toEqual([0, true])
    expect(stderr).toContain('replace st-YOUR-SITE-TOKEN')
    expect(stderr).toContain('consentctl sites rotate-token Shop')
    expect(stderr).toContain('consentctl sites update Shop --add-origin')
  })

  it('writes the file of --out, which every user can read', async () => {
    listing()
    const file = join(folder.path, 'consent.js')
    const { code, stdout } = await snippet('--for', 'osano', '--site-token', newToken, '--out', file)
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(readFileSync(file, 'utf8')).toContain('cookieconsent.Popup')
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o644 & ~process.umask())
  })

  it.each([
    [['--for', 'onetrust'], 'cookieconsent, klaro, osano, tarteaucitron, c15t'],
    [[], '--for'],
    [['--for', 'klaro', '--site-token', 'sk-123'], '--site-token must be a site’s token'],
    [['--for', 'klaro', '--columns', 'id'], 'remove --columns'],
  ])('rejects %j before any request, with exit code 2', async (flags, said) => {
    expectUnsent(cli, await snippet(...flags), said)
  })

  it('says of an instance with only the six routes that it does not list sites', async () => {
    cli.instance.use(answers('get', sitesPath, { error: 'not_found', message: 'x' }, 404))
    expect(await snippet('--for', 'klaro')).toMatchObject({ code: 2, stdout: '' })
  })
})
