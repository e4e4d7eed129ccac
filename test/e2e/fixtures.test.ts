import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runBinary, useFolder } from '../support/cli.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { databaseFor } from './campaign.ts'

const fixtures = fileURLToPath(new URL('../fixtures/consents.ndjson', import.meta.url))
const folder = useFolder()
const env = () => ({ HOME: folder.path })
let server: ServerProcess

beforeAll(async () => {
  const database = await databaseFor('fixtures', folder.path)
  server = await startServer(['--quickstart', '--port', '0'], { ...env(), ...database }, /--help/)
})
afterAll(() => server.end('SIGTERM'))

it('service › returns each of the thousand sample records with every field as it was sent', async () => {
  const created = await runBinary(['create', '--file', fixtures], { env: env() })
  expect(created.code).toBe(0)
  const sent = readFileSync(fixtures, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  const listed = await runBinary(['list', '-o', 'ndjson'], { env: env() })
  const records = new Map(
    listed.stdout
      .trimEnd()
      .split('\n')
      .map(line => [JSON.parse(line).id, JSON.parse(line)]),
  )
  const results = created.stdout
    .trimEnd()
    .split('\n')
    .map(line => line.split('\t'))
  expect(records.size).toBe(1000)
  expect(results.map(([line]) => Number(line))).toEqual(sent.map((_, index) => index + 1))
  for (const [index, { ip_address, ...fields }] of sent.entries()) {
    expect(records.get(results[index]?.[2])).toMatchObject(fields)
    expect(records.get(results[index]?.[2])?.preferences).toEqual(fields.preferences ?? {})
  }
})
