import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { run, useFolder } from '../../support/cli.ts'
import { runScript } from '../../support/documented-commands.ts'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { purgeNow } from '../purge/chains.ts'

const service = useService()
const folder = useFolder()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

const cover = async () => coverAll({ sql: service.sql, signer: await openSigner(service.sql, null) })

const cli = (args: string[]) =>
  run(args, { env: { HOME: folder.path, CONSENTCTL_BASE_URL: service.url, CONSENTCTL_API_KEY: owner.key } })

/** Verifies without the service. */
async function verify(path: string, ...options: string[]) {
  const { code, stdout, stderr } = await run(['verify', path, '-o', 'ndjson', ...options], {
    env: { HOME: folder.path },
  })
  const rows = stdout.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line)]))
  return { code, stderr, rows, wrong: rows.filter(({ result }) => result !== 'valid') }
}

const read = (path: string): Map<string, Buffer> =>
  new Map(
    readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter(name => statSync(join(path, name)).isFile())
      .map(name => [name, readFileSync(join(path, name))]),
  )

async function write(name: string, ...args: string[]) {
  const path = join(folder.path, name)
  const { code, stderr } = await cli(['evidence', ...args, '--out', path])
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`wrote ${path}: the evidence of `) })
  return path
}

const hostile = '</td><script>alert(1)</script>\n    touch pwned\u202e"\'&'

describe('consentctl evidence', () => {
  it('writes a folder that verifies offline, by the program and by the commands in its README.txt', async () => {
    const { id } = await owner.create({ subject_id: hostile, accepted: true, preferences: { [hostile]: hostile } })
    await owner.update(id, { accepted: false })
    await cover()
    const path = await write('case', id)
    const { code, stderr, wrong, rows } = await verify(path)
    expect({ code, stderr, wrong }).toEqual({ code: 0, stderr: '', wrong: [] })
    expect(rows.map(({ file }) => file.slice(path.length + 1))).toEqual(
      expect.arrayContaining(['pack.json', 'history.json', 'record.json', 'receipt.json', 'checkpoint.json']),
    )
    expect([...read(path).keys()].filter(name => statSync(join(path, name)).mode & 0o077)).toEqual([])

    const readme = readFileSync(join(path, 'README.txt'), 'utf8')
    const commands = readme.split('\n').filter(line => line.startsWith('    '))
    const ran = await runScript(path, commands.map(line => line.slice(4)).join('\n'))
    expect(ran.code, ran.stderr).toBe(0)
    expect(ran.stdout.split('\n').filter(line => line.includes('in the log'))).toHaveLength(2)
    expect(ran.stdout.match(/Signature Verified Successfully/g)).toHaveLength(3)
    expect(read(path).has('pwned')).toBe(false)

    const page = readFileSync(join(path, 'index.html'), 'utf8')
    expect(page).toContain("default-src 'none'")
    expect(page).not.toMatch(/<script|<\/td><s|\u202e/)
    expect(page).toContain('&lt;script&gt;')
  })
})
