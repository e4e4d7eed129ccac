import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { foreignFiles, toBytes } from '../../src/commands/consents/import/foreign-files.ts'
import { run, useFolder } from '../../support/cli.ts'
import { useService } from '../../support/service.ts'
import { makeKey } from '../keys/keys.ts'
import { newOwner } from './records.ts'

const service = useService()
const folder = useFolder()

it('import › the database has as many records and answers as twelve foreign files have persons and answers', async () => {
  expect(foreignFiles).toHaveLength(12)
  for (const [index, file] of foreignFiles.entries()) {
    const owner = await newOwner(service)
    const { key } = await makeKey(service, await service.signIn(owner), { scopes: ['import', 'read'] })
    const path = (name: string) => join(folder.path, `${index}-${name}`)
    writeFileSync(path('export.csv'), toBytes(file))
    writeFileSync(path('map.json'), JSON.stringify(file.map ?? {}))
    const flags = [
      ...['--from', file.format, '--map', path('map.json'), '--site', owner.siteId, '--yes', '--json'],
      ...(file.format === 'csv' ? [] : ['--policy-version', '1']),
      ...(file.timezone ? ['--timezone', file.timezone] : []),
      ...(file.encoding ? ['--encoding', file.encoding] : []),
    ]
    const env = {
      CONSENTCTL_BASE_URL: service.url,
      CONSENTCTL_API_KEY: key,
      CONSENTCTL_STATE_DIR: path('state'),
      CONSENTCTL_CONFIG_DIR: path('config'),
    }
    const ran = await run(['import', path('export.csv'), ...flags], { env })
    expect([file.name, ran.code], ran.stderr).toEqual([file.name, 0])
    const [counted] = await service.sql`
      select count(*)::int as records, sum(version)::int as answers, count(*) filter (where accepted)::int as accepted
      from consents where account_id = ${owner.accountId}`
    const { records, answers, accepted } = file
    expect([file.name, counted]).toEqual([file.name, { records, answers, accepted }])
  }
})
