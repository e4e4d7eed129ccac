import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { formatNames } from '../../../src/commands/consents/import/prepare/formats.ts'
import type { AuditEntry, Consent } from '../../../src/contract/index.ts'
import { exampleMap, makers } from '../../src/commands/consents/import/formats/fixtures.ts'
import { type Fixture, type Person, sha256 } from '../../src/commands/consents/import/formats/truth.ts'
import * as cli from '../../support/cli.ts'
import { useService } from '../../support/service.ts'
import { newImporter } from './imports.ts'

const service = useService()
const folder = cli.useFolder()
const rows = Number(process.env['CONSENTCTL_TEST_IMPORT_ROWS'] ?? 150)
const seed = Number(process.env['CONSENTCTL_TEST_SEED'] ?? 20_261_123)
/** All with a number of rows of one's own. */
const formats = rows === 150 ? (['didomi', 'cookie-script'] as const) : formatNames
/** Their own maps do not say everything. */
const incomplete: readonly string[] = ['consenti', 'csv']
const nobody = 'http://127.0.0.1:1'

/** What the record and the history say of an answer, with the files that it may be from. */
function answersOf({ answers }: Person, files: Fixture['files']) {
  return answers.map(({ at, policyVersion, files: names, ...answer }) => ({
    given_at: new Date(at).toISOString(),
    ...answer,
    policy_version: policyVersion,
    file_sha256: expect.toSatisfy((digest: string) => names.some(name => digest === sha256(files[name] as Buffer))),
  }))
}

describe('import, from the files of another tool', () => {
  it.each(formats)(
    '%s › stops at undecided values without a request, then records what the files mean',
    async format => {
      const importer = await newImporter(service, ['import', 'read'])
      const fixture = makers[format](seed, rows)
      const path = (name: string) => join(folder.path, `${format}-${name}`)
      for (const [name, bytes] of Object.entries(fixture.files)) writeFileSync(path(name), bytes)
      writeFileSync(path('map.json'), exampleMap(format))
      const { policyVersion, timezone } = fixture
      const options = [
        ...(policyVersion === undefined ? [] : ['--policy-version', String(policyVersion)]),
        ...(timezone === undefined ? [] : ['--timezone', timezone]),
      ]
      const args = [
        'import',
        ...Object.keys(fixture.files).map(path),
        '--from',
        format,
        '--site',
        importer.siteId,
        ...options,
      ]
      const run = (more: readonly string[], url = service.url) =>
        cli.run([...args, '--yes', ...more], {
          env: {
            CONSENTCTL_BASE_URL: url,
            CONSENTCTL_API_KEY: importer.importKey,
            CONSENTCTL_CONFIG_DIR: path('config'),
            CONSENTCTL_STATE_DIR: path('state'),
          },
        })

      expect(await run([], nobody)).toMatchObject({ code: incomplete.includes(format) ? 2 : 5 })
      const dry = await run(['--map', path('map.json'), '--dry-run'])
      expect(dry).toMatchObject({
        code: 8,
        stderr: expect.stringContaining(
          `it takes imports, the key has the scope import, the site ${importer.siteId} is there, the quota has no limit; only reads`,
        ),
      })
      expect((await importer.list({ imported: 'true' })).body.data).toEqual([])
      const done = await run(['--map', path('map.json'), '--receipt-out', path('receipt.json')])
      expect(done).toMatchObject({
        code: 8,
        stderr: expect.stringContaining(`imported ${fixture.persons.length} records`),
      })
      const listed = await importer.list({ imported: 'true', limit: '100' })
      const records = new Map<string | null | undefined, Consent>()
      for (let page = listed.body; ; ) {
        for (const record of page.data as Consent[]) records.set(record.origin?.id, record)
        if (page.next_cursor === null) break
        page = (await importer.list({ imported: 'true', limit: '100', cursor: page.next_cursor })).body
      }
      expect(records.size).toBe(fixture.persons.length)
      for (const person of fixture.persons) {
        const { id, evidence, ip_address: _, ...fields } = person.record // lists have no addresses
        const { consent_id, subject_id, ...others } = { consent_id: null, subject_id: null, ...fields }
        const answers = answersOf(person, fixture.files)
        const { given_at, accepted, preferences } = answers.at(-1) as (typeof answers)[number]
        const record = records.get(id) as Consent
        expect(record).toMatchObject({
          origin: { system: JSON.parse(exampleMap(format)).system ?? format, id, evidence: evidence ?? null },
          ...{ consent_id, subject_id, ...others, given_at, accepted, preferences },
        })
        const entries = (await importer.history(record.id)).body.data as AuditEntry[]
        expect(entries).toMatchObject(
          answers.map(answer => ({ ...answer, action: 'imported', created_at: record.created_at })),
        )
      }
      expect(JSON.parse(readFileSync(path('receipt.json'), 'utf8'))).toMatchObject({
        ...{ type: 'import_receipt', format, rows: fixture.counts },
        records: { made: fixture.persons.length, known: 0, refused: 0 },
        files: Object.values(fixture.files).map(bytes => ({ sha256: sha256(bytes) })),
      })
    },
  )
})
