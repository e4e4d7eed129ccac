import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runBinary, useFolder } from '../support/cli.ts'
import { startServer } from '../support/server.ts'
import { databaseFor } from './campaign.ts'

const folder = useFolder()

it('serve › finds the included database of countries', async () => {
  const env = { HOME: folder.path }
  const database = await databaseFor('place', folder.path)
  const server = await startServer(['--quickstart', '--port', '0'], { ...env, ...database }, /--help/)
  try {
    const created = await runBinary(['create', '--ip-address', '193.0.6.139', '-o', 'json'], { env })
    expect(JSON.parse(created.stdout)).toMatchObject({ country: 'NL', region: null })
  } finally {
    await server.end('SIGTERM')
  }
})

it('serve › when GEOIP_DB cannot be read, does not start and says what to do', async () => {
  const file = join(folder.path, 'none.mmdb')
  const env = { HOME: folder.path, GEOIP_DB: file }
  const { code, stderr } = await runBinary(['serve', '--port', '0'], { env })
  expect(code).toBe(2)
  expect(stderr).toContain(`GEOIP_DB, ${file}: `)
  expect(stderr).toContain('MMDB')
})
