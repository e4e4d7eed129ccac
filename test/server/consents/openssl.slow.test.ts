import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { isLongRun } from '../../e2e/campaign.ts'
import { useFolder } from '../../support/cli.ts'
import { everyByteChange, readCommands, runScript, someByteChanges } from '../../support/documented-commands.ts'
import { useService } from '../../support/service.ts'
import { newOwner } from './records.ts'

const hasTools = ['openssl', 'curl'].every(name => spawnSync(name, ['version']).error === undefined)

describe.skipIf(!hasTools)('openssl commands in the README', () => {
  const service = useService()
  const folder = useFolder()
  let receipt: Buffer
  beforeAll(async () => {
    const owner = await newOwner(service)
    const { id } = await owner.create({ subject_id: 'maría@example.com', accepted: true })
    await owner.update(id, { accepted: false })
    receipt = Buffer.from((await owner.receipt(id)).text)
    const fetch = readCommands('keys').replaceAll('http://127.0.0.1:8787', service.url)
    expect(await runScript(folder.path, fetch)).toMatchObject({ code: 0, stderr: '' })
  })

  it('verify a valid receipt', async () => {
    writeFileSync(join(folder.path, 'consent.json'), receipt)
    expect(await runScript(folder.path, readCommands('openssl'))).toEqual({
      code: 0,
      stdout: 'Signature Verified Successfully\n',
      stderr: '',
    })
  })

  it('fail when any one byte of the receipt is changed', { timeout: 600_000 }, async () => {
    const script = `set +e
for folder in */; do
  cd "$folder" && cp ../consent-keys.json .
  ( ${readCommands('openssl')} ) > /dev/null 2>&1 && echo "$folder"
  cd ..
done`
    const put = (name: string, text: Buffer) => {
      mkdirSync(join(folder.path, name))
      writeFileSync(join(folder.path, name, 'consent.json'), text)
    }
    const changes = isLongRun ? everyByteChange(receipt) : someByteChanges(receipt)
    for (const { at, byte } of changes) {
      const changed = Buffer.from(receipt)
      changed[at] = byte
      put(`${at}-${byte}`, changed)
    }
    put('unchanged', receipt)
    expect(changes.length).toBeGreaterThan(80)
    expect(await runScript(folder.path, script)).toMatchObject({ stdout: 'unchanged/\n' })
  })
})
