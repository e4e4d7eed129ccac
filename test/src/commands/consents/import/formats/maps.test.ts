import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { formatNames } from '../../../../../../src/commands/consents/import/prepare/formats.ts'
import { ImportMap } from '../../../../../../src/commands/consents/import/prepare/map.ts'

const folder = new URL('../../../../../../src/commands/consents/import/formats/', import.meta.url)
const README = readFileSync(new URL('../README.md', folder), 'utf8')

/** What only the person who imports can say. */
const own: Readonly<Record<string, object>> = {
  consenti: { accepted: { rule: 'any', except: ['necessary'] } },
  csv: {
    system: 'acme-crm',
    fields: { origin_id: 'id', given_at: 'time', 'pref.news': 'news' },
    time: { formats: ['rfc3339'] },
    accepted: { rule: 'any' },
  },
}

const read = (name: string) => JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8')) as Partial<ImportMap>

describe('format maps', () => {
  it('are exactly the formats that --from offers', () => {
    expect(readdirSync(folder).sort()).toEqual(formatNames.map(name => `${name}.json`).sort())
  })

  it.each(formatNames)('%s has a map, and a section of the README cites its documentation', name => {
    const map = ImportMap.parse({ ...read(name), ...own[name] })
    const section = README.split(/^## /m).find(text => text.startsWith(`\`${name}\``))
    expect(section).toBeDefined()
    for (const { url, read } of map.documentation ?? []) {
      expect(section).toContain(url)
      expect(section).toContain(read)
    }
    expect(map.documentation === undefined).toBe(name === 'csv')
  })
})
