import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { DatabaseFinding, ServerModule } from '../../../src/contract/index.ts'
import { keyIdOf, signingKeyOf } from '../../../src/evidence/keys.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { useFolder } from '../../support/cli.ts'
import { expectExit, jsonOf, useCli, uuid } from '../support.ts'

const cli = useCli()
const folder = useFolder()
let files = 0
const newFile = () => join(folder.path, `checkpoints-${++files}.txt`)

const finding: DatabaseFinding = {
  account_id: uuid(6),
  consent_id: uuid(1),
  version: 2,
  problem: 'changed',
  detail: 'has another hash in the log',
}
const key = signingKeyOf(Buffer.alloc(32, 5))
const checkpointOf = (tree_size: number) =>
  signDocument(
    {
      ...{ type: 'checkpoint', version: 1, account_id: uuid(6), tree_size, root_hash: 'cd'.repeat(32) },
      ...{ created_at: '2026-11-20T20:50:21.164Z', previous_size: 0, keys_size: 1, keys_root: 'ef'.repeat(32) },
      key_id: keyIdOf(key),
    },
    key,
  )

const inspected = { accounts: 1, records: 3, entries: 5, administration: 1, checkpoints: 2, timestamps: 0 }

/** A server that returns the given findings and records its arguments. */
function serverOf({ findings = [], checkpoints = [] }: { findings?: DatabaseFinding[]; checkpoints?: string[] }) {
  const given: { kept: readonly string[]; account?: string | undefined; tsaCa?: string }[] = []
  const server: Partial<ServerModule> = {
    verifyDatabase: (_, { kept, account, tsaCa }) => {
      given.push({ kept, account, ...(tsaCa !== undefined && { tsaCa }) })
      async function* pages() {
        for (const each of findings) yield [each]
      }
      return { findings: pages(), inspected }
    },
    takeCheckpoints: async (_, { kept, account }) => {
      given.push({ kept, account })
      return { findings, checkpoints }
    },
  }
  return { given, loadServer: async () => server as ServerModule }
}

describe('admin verify', () => {
  it('reports how much it has verified, and exits with 0', async () => {
    const { code, stdout, stderr } = await cli.run(['admin', 'verify', '-o', 'ndjson'], serverOf({}))
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toBe(
      'verified 3 records with 5 entries, 1 entry of the administrators’ log, 2 checkpoints, of 1 account\n',
    )
  })

  it('prints a row per finding, and exits with 5', async () => {
    const ran = await cli.run(['admin', 'verify', '--json'], serverOf({ findings: [finding, finding] }))
    expect(jsonOf(ran, 5)).toEqual([finding, finding])
    expectExit(ran, 5, { code: 'not_valid', exit: 5, retryable: false })
  })

  it('compares with the checkpoints of a file, for one account on request', async () => {
    const file = newFile()
    writeFileSync(file, checkpointOf(1) + checkpointOf(2))
    const server = serverOf({})
    const args = ['admin', 'verify', '--checkpoint', file, '--account', uuid(6)]
    expect(await cli.run(args, server)).toMatchObject({ code: 0 })
    expect(server.given).toEqual([{ kept: [checkpointOf(1), checkpointOf(2)], account: uuid(6) }])
  })

  it('also verifies and counts the timestamps if their authority is given', async () => {
    const server = serverOf({})
    const { code, stderr } = await cli.run(['admin', 'verify', '--tsa-ca', 'ca.pem'], server)
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'verified 3 records with 5 entries, 1 entry of the administrators’ log, 2 checkpoints, 0 timestamps, of 1 account\n',
    })
    expect(server.given).toEqual([{ kept: [], account: undefined, tsaCa: 'ca.pem' }])
  })

  it('rejects a missing file, or one with anything but checkpoints, before it reads the database', async () => {
    const file = newFile()
    const server = serverOf({})
    expect(await cli.run(['admin', 'verify', '--checkpoint', file], server)).toMatchObject({ code: 5 })
    for (const wrong of ['x', checkpointOf(1).slice(1), `${checkpointOf(1)}\n`, `${checkpointOf(1)}{}\n`]) {
      writeFileSync(file, wrong)
      expect(await cli.run(['admin', 'verify', '--checkpoint', file], server)).toMatchObject({ code: 5 })
    }
    expect(server.given).toEqual([])
  })
})

describe('admin checkpoint', () => {
  const take = (file: string, server: ReturnType<typeof serverOf>) =>
    cli.run(['admin', 'checkpoint', '--file', file, '--json'], server)

  it('creates a file that only its owner can read, and appends new checkpoints', async () => {
    const file = newFile()
    const first = await take(file, serverOf({ checkpoints: [checkpointOf(1)] }))
    expect(jsonOf(first)).toMatchObject([{ account_id: uuid(6), tree_size: 1, result: 'kept' }])
    expect(readFileSync(file, 'utf8')).toBe(checkpointOf(1))
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const server = serverOf({ checkpoints: [checkpointOf(2)] })
    await take(file, server)
    expect(server.given[0]?.kept).toEqual([checkpointOf(1)])
    expect(readFileSync(file, 'utf8')).toBe(checkpointOf(1) + checkpointOf(2))
    await take(file, serverOf({ checkpoints: [checkpointOf(2)] }))
    expect(readFileSync(file, 'utf8')).toBe(checkpointOf(1) + checkpointOf(2))
  })

  it('when the log does not agree with the file, leaves it unchanged, says why, and exits with 5', async () => {
    const file = newFile()
    writeFileSync(file, checkpointOf(1))
    const ran = await take(file, serverOf({ findings: [finding], checkpoints: [checkpointOf(2)] }))
    expect(jsonOf(ran, 5)).toMatchObject([{ account_id: uuid(6), result: 'not_valid', detail: finding.detail }])
    expect(readFileSync(file, 'utf8')).toBe(checkpointOf(1))
  })

  it('keeps checkpoints that another command has added meanwhile', async () => {
    const file = newFile()
    const server = serverOf({ checkpoints: [checkpointOf(2)] })
    const loadServer = async () => {
      const loaded = await server.loadServer()
      writeFileSync(file, checkpointOf(7))
      return loaded
    }
    expect((await cli.run(['admin', 'checkpoint', '--file', file], { loadServer })).code).toBe(1)
    expect(readFileSync(file, 'utf8')).toBe(checkpointOf(7))
    expect(existsSync(`${file}.part`)).toBe(false)
  })
})
