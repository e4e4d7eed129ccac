import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { afterAll, describe, expect, it } from 'vitest'
import { siteOf } from '../session-fixtures.ts'
import { expectExit, expectNoStdout, fails, machineError, screen, site, useCli } from '../support.ts'

const cli = useCli()
const folder = mkdtempSync(join(tmpdir(), 'notices-'))
afterAll(() => rmSync(folder, { recursive: true }))

const text = join(folder, 'policy.de.md')
writeFileSync(text, 'Hallo')

function notice(media_type = 'text/plain') {
  const sha256 = createHash('sha256').update('Hallo').digest('hex')
  return {
    site_id: site,
    policy_version: 1,
    texts: [{ language: 'de', media_type, size: 5, sha256 }],
    purposes: [],
    controller: null,
    valid_for: null,
    requires_renewal: false,
    effective_from: null,
    state: 'published',
    revision: 2,
    created_at: '2026-01-31T09:30:00.000Z',
    updated_at: '2026-01-31T09:30:00.000Z',
    published_at: '2026-02-01T09:30:00.000Z',
    published_entry: 7,
    leaf_index: 9,
  }
}

const listing = (media_type?: string) =>
  http.get('*/api/v1/sites/:id/notices', () => HttpResponse.json({ data: [notice(media_type)] }))

const downloading = (content: string, type = 'text/plain; charset=utf-8') =>
  http.get('*/texts/:language', () => new HttpResponse(content, { headers: { 'content-type': type } }))

const show = ['notices', 'show', '1', '--site', site]

describe('notices', () => {
  it.each([
    [['list', '--site', site]],
    [['show', '1', '--site', site]],
    [['diff', '1', '2', '--site', site]],
    [['publish', '--file', text, '--yes', '--site', site]],
  ])('when the instance has only the six routes, %j exits with 2 (not_offered)', async args => {
    cli.instance.use(http.all('*/api/v1/*', () => fails(404, 'not_found')))
    const { code, stdout, stderr } = await cli.run(['notices', ...args], { env: { CONSENTCTL_ERROR_FORMAT: 'json' } })
    expect({ code, stdout, error: machineError(stderr)['code'] }).toEqual({ code: 2, stdout: '', error: 'not_offered' })
  })

  it('show › rejects a text with another SHA-256 (exit 5)', async () => {
    cli.instance.use(listing(), downloading('Hello'))
    expectNoStdout(await cli.run(show), 5, 'SHA-256 differs')
    cli.instance.use(listing(), downloading('Hallo'))
    expect(await cli.run(show)).toMatchObject({ code: 0, stdout: 'Hallo' })
  })

  it('show › selects the version in effect at a time', async () => {
    cli.instance.use(listing(), downloading('Hallo'))
    const at = (time: string) => cli.run(['notices', 'show', '--site', site, '--at', time])
    expect(await at('2026-02-01T09:30:00Z')).toMatchObject({ code: 0, stdout: 'Hallo' })
    expect(await at('2026-02-01T09:29:59Z')).toMatchObject({ code: 3, stdout: '' })
    const earlier = { ...notice(), effective_from: '2020-01-01T00:00:00.000Z' }
    cli.instance.use(http.get('*/api/v1/sites/:id/notices', () => HttpResponse.json({ data: [earlier] })))
    expect(await at('2026-02-01T09:29:59Z'), 'in effect before it was published').toMatchObject({ code: 3, stdout: '' })
    expect(await at('2026-02-01T09:30:00Z')).toMatchObject({ code: 0, stdout: 'Hallo' })
    expect(await cli.run([...show, '--at', '7d'])).toMatchObject({ code: 2 })
    expect(await cli.run([...show, '--lang', 'en'])).toMatchObject({ code: 3 })
  })

  it('show › rejects a PDF on a terminal without downloading it', async () => {
    cli.instance.use(listing('application/pdf'))
    expect(await cli.run(show, screen)).toMatchObject({ code: 2, stderr: expect.stringContaining('use --out FILE') })
  })

  it.each([
    ['a name without a language', ['--file', join(folder, 'policy.md')]],
    ['a name without a media type', ['--file', join(folder, 'policy.de'), '--lang', 'de']],
    ['fewer languages than files', ['--file', text, '--file', text, '--lang', 'de']],
    ['a language twice', ['--file', text, '--file', text]],
    ['a purpose without a title', ['--file', text, '--purpose', 'marketing']],
    ['an IRI without its purpose', ['--file', text, '--purpose-iri', 'marketing=https://w3id.org/dpv#Marketing']],
    ['an invalid duration', ['--file', text, '--valid-for', '1 year']],
  ])('publish › rejects %s before any request (exit 2)', async (_name, args) => {
    expect(await cli.run(['notices', 'publish', '--site', site, '--yes', ...args])).toMatchObject({
      code: 2,
      stdout: '',
    })
    expect(cli.sent()).toEqual([])
  })

  it.each([
    [[], 'P1Y', /valid for P1Y, as in version 1/],
    [
      ['--valid-for', 'P2Y'],
      'P2Y',
      /valid_for: P2Y \(was P1Y\)\nnote: consents to it are valid for P2Y, and Shop deletes records P1Y after creation: /,
    ],
    [['--valid-for', 'none'], null, /valid_for: null \(was P1Y\)/],
  ])('publish › with %j keeps the validity of the previous version, or changes it', async (flags, expected, told) => {
    writeFileSync(join(folder, 'new.de.md'), 'Hallo!')
    const before = { ...notice('text/markdown'), valid_for: 'P1Y' }
    const retention = { period: 'P1Y', after: 'creation' } as const
    cli.instance.use(
      http.get('*/api/v1/sites', () => HttpResponse.json({ data: [siteOf({ id: site, retention })] })),
      http.get('*/api/v1/sites/:id/notices', () => HttpResponse.json({ data: [before] })),
    )
    const args = ['notices', 'publish', '--file', join(folder, 'new.de.md'), '--site', site, '--dry-run', '--json']
    const { code, stdout, stderr } = await cli.run([...args, ...flags])
    expect(code, stderr).toBe(0)
    expect(stdout).toContain(`"valid_for":${JSON.stringify(expected)}`)
    expect(stderr).toMatch(told)
  })

  it.each([
    [
      'took effect since',
      1,
      3,
      '2026-02-01T00:00:00.000Z',
      /and is published\nnew records of Shop have policy version 3 from now on\n$/,
    ],
    [
      'was undone since',
      1,
      2,
      '2026-02-01T00:00:00.000Z',
      /still have policy version 2: consentctl sites update \S+ --policy-version 3/,
    ],
    ['is in effect', 0, 3, null, /nothing to publish\n$/],
    [
      'is to come',
      0,
      2,
      '2999-01-01T00:00:00.000Z',
      /nothing to publish\nnew records of Shop still have policy version 2: run the same command again at 2999-01-01/,
    ],
  ])(
    'publish › reports the version of new records if the same notice %s',
    async (_name, publications, version, effective_from, sentence) => {
      const published = { ...notice('text/markdown'), policy_version: 3, effective_from }
      let present = publications > 0 ? 2 : version
      let calls = 0
      cli.instance.use(
        http.get('*/api/v1/sites', () => HttpResponse.json({ data: [siteOf({ id: site, policy_version: present })] })),
        http.get('*/api/v1/sites/:id/notices', () => HttpResponse.json({ data: [published] })),
        http.post('*/notices/3/publish', () => {
          calls += 1
          present = version
          return HttpResponse.json(published)
        }),
      )
      const from = effective_from ? ['--effective-from', effective_from] : []
      const { code, stderr } = await cli.run(['notices', 'publish', '--site', site, '--file', text, '--yes', ...from])
      expect({ code, stderr, calls }).toEqual({ code: 0, stderr: expect.stringMatching(sentence), calls: publications })
    },
  )

  it('publish › suggests --yes without --confirm, and reports a key that may not publish', async () => {
    const publish = ['notices', 'publish', '--site', site, '--file', text]
    const { stderr } = await cli.run(publish)
    expect(stderr).toContain('use --yes')
    expect(stderr).not.toContain('--confirm')
    cli.instance.use(
      http.get('*/api/v1/sites', () => HttpResponse.json({ data: [siteOf({ id: site })] })),
      http.get('*/api/v1/sites/:id/notices', () => HttpResponse.json({ data: [] })),
      http.put('*/notices/:version', () => fails(403, 'forbidden', 'no', 'missing_scope')),
    )
    const rejected = await cli.run([...publish, '--yes'])
    expectExit(rejected, 4, 'keys create --name ci --scope notices')
  })
})
