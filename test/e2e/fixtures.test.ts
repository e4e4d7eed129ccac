import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runBinary } from '../support/cli.ts'
import { useQuickstart } from './served.ts'

const fixtures = fileURLToPath(new URL('../fixtures/consents.ndjson', import.meta.url))
const { folder, run } = useQuickstart('fixtures')

const readLines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))

it('service › returns each of the thousand sample records with every field unchanged', async () => {
  const created = await run('create', '--file', fixtures)
  expect(created.code).toBe(0)
  const sent = readLines(readFileSync(fixtures, 'utf8'))
  const listed = await run('list', '-o', 'ndjson')
  const records = new Map(readLines(listed.stdout).map(record => [record.id, record]))
  const results = created.stdout.split('\n').map(line => line.split('\t'))
  expect(records.size).toBe(1000)
  expect(results.slice(0, -1).map(([line]) => Number(line))).toEqual(sent.map((_, index) => index + 1))
  for (const [index, { ip_address, ...fields }] of sent.entries()) {
    expect(records.get(results[index]?.[2])).toMatchObject(fields)
    expect(records.get(results[index]?.[2])?.preferences).toEqual(fields.preferences ?? {})
  }
})

it('serve › finds the bundled country database', async () => {
  const created = await run('create', '--ip-address', '193.0.6.139', '-o', 'json')
  expect(JSON.parse(created.stdout)).toMatchObject({ country: 'NL', region: null })
})

it('serve › when GEOIP_DB cannot be read, does not start and says how to fix it', async () => {
  const file = join(folder.path, 'none.mmdb')
  const env = { HOME: folder.path, GEOIP_DB: file }
  const { code, stderr } = await runBinary(['serve', '--port', '0'], { env })
  expect(code).toBe(2)
  expect(stderr).toContain(`GEOIP_DB, ${file}: `)
  expect(stderr).toContain('MMDB')
})
