import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { keyIdOf, signingKeyOf } from '../../../src/evidence/keys.ts'
import { MerkleTree } from '../../../src/evidence/merkle.ts'
import { consistencyRanges, inclusionRanges, type Range } from '../../../src/evidence/proofs.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { useFolder } from '../../support/cli.ts'
import { historyAt, historyOf, id, start } from '../evidence/chains.ts'
import { keySetOf } from '../signed-consent-receipt.ts'
import { answers, byId, entry, expectExit, fails, machineError, useCli, uuid } from '../support.ts'

const cli = useCli()
const path = `${byId}/history`
const good = historyOf('created', 'updated', 'deleted')

it('reports that a history verifies, with its number of entries', async () => {
  cli.instance.use(answers('get', path, { data: good }))
  const { code, stdout, stderr } = await cli.run(['history', id.toUpperCase(), '--verify', '--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual([
    { id: id.toUpperCase(), entries: 3, result: 'ok', detail: null, basis: 'consistent in itself' },
  ])
})

it('exits with 5 when one of several does not verify, and -q prints which', async () => {
  const forged = good.map(each => ({ ...each, accepted: true }))
  const other = id.replace(/.$/, '2')
  cli.instance.use(http.get(path, ({ params }) => HttpResponse.json({ data: params['id'] === id ? good : forged })))
  const { code, stdout, stderr } = await cli.run(['history', id, other, '--verify', '-q'], {
    env: { CONSENTCTL_ERROR_FORMAT: 'json' },
  })
  expect({ code, stdout }).toEqual({ code: 5, stdout: `${other}\n` })
  expect(machineError(stderr)).toMatchObject({
    code: 'not_valid',
    exit: 5,
    message: '1 of 2 histories does not verify',
  })
})

it('when the instance has only the specification’s fields, says that it has no chain and exits with 5', async () => {
  cli.instance.use(answers('get', path, { data: [entry(), entry()] }))
  const { code, stdout } = await cli.run(['history', '7', '--verify', '-o', 'ndjson'])
  expect(code).toBe(5)
  expect(JSON.parse(stdout)).toMatchObject({
    result: 'unverifiable',
    detail: expect.stringContaining('no chain'),
  })
})

it('when a record does not exist, exits with 3, or with 8 if another one verifies', async () => {
  cli.instance.use(
    http.get(path, ({ params }) => (params['id'] === id ? HttpResponse.json({ data: good }) : fails(404, 'not_found'))),
  )
  expect(await cli.run(['history', 'x', '--verify'])).toMatchObject({ code: 3, stdout: '' })
  expect(await cli.run(['history', id, 'x', '--verify'])).toMatchObject({ code: 8 })
})

describe('with --checkpoint', () => {
  const folder = useFolder()
  const key = signingKeyOf(Buffer.alloc(32, 5))
  const account = uuid(6)
  const others = Array.from({ length: 9 }, (_, index) => Buffer.alloc(32, index))
  const hashes = [...others.slice(0, 2), ...good.map(({ hash }) => Buffer.from(hash ?? '', 'hex')), ...others.slice(2)]
  const rootOf = ({ from, to }: Range, leaves = hashes) => {
    const tree = new MerkleTree()
    for (const leaf of leaves.slice(from, to)) tree.append(leaf)
    return tree.root.toString('hex')
  }
  const checkpointOf = (tree_size: number, fields: object = {}, by = key) => {
    const claim = { account_id: account, tree_size, root_hash: rootOf({ from: 0, to: tree_size }) }
    const times = {
      created_at: `2026-02-0${(tree_size % 9) + 1}T00:00:00.000Z`,
      keys_size: 1,
      keys_root: 'ab'.repeat(32),
      previous_size: 0,
    }
    return signDocument({ type: 'checkpoint', version: 1, ...claim, ...times, key_id: keyIdOf(by), ...fields }, by)
  }

  /** An instance whose log has these leaves, of which the newest checkpoint covers some; answers can be changed. */
  function instanceOf(size: number, { leaves = hashes, newest = checkpointOf(size), inclusion = {} } = {}) {
    const pathOf = (ranges: Range[]) => ranges.map(range => rootOf(range, leaves))
    cli.instance.use(
      answers('get', path, { data: good }),
      answers('get', '*/.well-known/consent-keys.json', keySetOf(key)),
      http.get(
        '*/api/v1/log/checkpoint',
        () => new HttpResponse(newest, { headers: { 'content-type': 'application/json' } }),
      ),
      http.get('*/api/v1/log/consistency', ({ request }) => {
        const query = new URL(request.url).searchParams
        const [first, second] = [Number(query.get('first')), Number(query.get('second'))]
        return HttpResponse.json({ first, second, path: pathOf(consistencyRanges(first, second)) })
      }),
      http.get('*/api/v1/log/inclusion', ({ request }) => {
        const tree_size = Number(new URL(request.url).searchParams.get('tree_size'))
        const version = Math.min(tree_size - 2, good.length)
        if (version < 1) return fails(404, 'not_found')
        const proof = { record_id: id, version, leaf_index: version + 1, leaf_hash: 'cd'.repeat(32), tree_size }
        const root_hash = rootOf({ from: 0, to: tree_size }, leaves)
        return HttpResponse.json({
          ...proof,
          root_hash,
          path: pathOf(inclusionRanges(version + 1, tree_size)),
          ...inclusion,
        })
      }),
    )
  }
  async function verify(...kept: string[]) {
    const file = join(folder.path, 'checkpoints.txt')
    writeFileSync(file, kept.join(''))
    const { code, stdout, stderr } = await cli.run(['history', id, '--verify', '--checkpoint', file, '-o', 'ndjson'])
    return { code, stderr, ...(stdout === '' ? {} : JSON.parse(stdout)) }
  }

  const under = (day: string) => ({ detail: null, basis: `under the checkpoint of 2026-02-${day}T00:00:00.000Z` })
  it.each<[string, string[], object]>([
    ['the newest one', [checkpointOf(12)], under('04')],
    ['one that the log has grown since', [checkpointOf(5)], under('06')],
    [
      'the newest of several of the account',
      [checkpointOf(1), checkpointOf(4, { created_at: good[2]?.created_at }), checkpointOf(9, { account_id: uuid(7) })],
      { detail: 'versions above 2 are not proved by the checkpoint' },
    ],
  ])('reports that a history is in the log under %s', async (_, kept, expected) => {
    instanceOf(12)
    expect(await verify(...kept)).toMatchObject({ code: 0, result: 'ok', ...expected })
  })

  const minutesAfterRecord = (minutes: number) => ({ created_at: new Date(start + minutes * 60_000).toISOString() })

  it('when a record is newer than the checkpoint, neither confirms it nor fails', async () => {
    instanceOf(12)
    for (const { created_at } of [minutesAfterRecord(-600), minutesAfterRecord(-0.001)])
      expect(await verify(checkpointOf(2, { created_at }))).toEqual({
        code: 0,
        stderr:
          '1 of 1 histories is newer than the checkpoint: consistent in itself, and not proved to be in the log\n',
        ...{ id, entries: 3, result: 'not_covered' },
        detail: `it is not in the log under the checkpoint of ${created_at}, and newer than that: the checkpoint does not vouch for it`,
        basis: 'consistent in itself',
      })
    const file = join(folder.path, 'checkpoints.txt')
    expect(await cli.run(['history', id, '--verify', '--checkpoint', file, '-q'])).toMatchObject({
      code: 0,
      stdout: '',
    })
  })

  it.each([0, 0.02, 10])(
    'does not report a record as newer if it may be %d minutes older than the checkpoint',
    async minutes => {
      instanceOf(12)
      const { created_at } = minutesAfterRecord(minutes)
      expect(await verify(checkpointOf(2, { created_at }))).toMatchObject({
        ...{ code: 5, result: 'unverifiable', basis: null },
        detail: `version 1 is dated 2026-01-31T09:30:00.000Z, and not in the log under the checkpoint of ${created_at}: it may be newer if a clock was slow; keep a later one`,
      })
    },
  )

  it.each([-600, 10])(
    'fails if a record covered by a new checkpoint was changed (%i minutes after it)',
    async minutes => {
      instanceOf(12)
      cli.instance.use(answers('get', path, { data: good.map(each => ({ ...each, accepted: true })) }))
      expect(await verify(checkpointOf(2, minutesAfterRecord(minutes)))).toMatchObject({ code: 5, basis: null })
    },
  )

  it('does not mistake a record that is missing from the log for a new one', async () => {
    instanceOf(12)
    const detail = expect.stringMatching(/^version 1 is dated 2026-01-31T09:30:00.000Z, before the checkpoint of 2026-/)
    for (const each of [checkpointOf(2), checkpointOf(2, minutesAfterRecord(11))])
      expect(await verify(each)).toMatchObject({ code: 5, result: 'not_valid', detail, basis: null })
    const later = historyAt(start + 3_600_000, 'created', 'updated')
    cli.instance.use(answers('get', path, { data: later }))
    expect(await verify(checkpointOf(2, minutesAfterRecord(11)))).toMatchObject({
      ...{ code: 5, result: 'not_valid', basis: null },
      detail: 'version 1: is of another time than the record’s id',
    })
  })

  it('does not judge versions dated before a checkpoint that may be one of several in a run', async () => {
    const leaves = [...hashes.slice(0, 3), ...Array.from({ length: 2000 }, () => Buffer.alloc(32)), ...hashes.slice(3)]
    const [kept, complete, newest] = [
      [2000, 0],
      [2000, 1],
      [leaves.length, 0],
    ].map(([tree_size = 0, previous_size]) =>
      checkpointOf(tree_size, {
        root_hash: rootOf({ from: 0, to: tree_size }, leaves),
        created_at: '2026-03-01T00:00:00.000Z',
        previous_size,
      }),
    ) as [string, string, string]
    const nodes = inclusionRanges(2, 2000).map(range => rootOf(range, leaves))
    instanceOf(leaves.length, { leaves, newest, inclusion: { version: 1, leaf_index: 2, path: nodes } })
    const detail = expect.stringContaining('version 2 is dated 2026-')
    expect(await verify(kept)).toMatchObject({ code: 5, result: 'unverifiable', detail, basis: null })
    expect(await verify(complete)).toMatchObject({ code: 5, result: 'not_valid', detail })
  })

  const changed = hashes.with(0, Buffer.alloc(32, 99))
  const newestOf = (leaves: typeof hashes) => checkpointOf(12, { root_hash: rootOf({ from: 0, to: 12 }, leaves) })
  const unknown = signingKeyOf(Buffer.alloc(32, 8))
  const other = { leaves: changed, newest: newestOf(changed) }
  const gap =
    /version 3 is dated 2026-\S+, before the checkpoint of 2026-02-05T00:00:00.000Z, which is not proved to have it/
  it.each<[string, { size?: number } & Parameters<typeof instanceOf>[1], string, RegExp]>([
    ['was changed', other, checkpointOf(5), /the log was changed since the checkpoint of/],
    ['was changed at the same size', other, checkpointOf(12), /the log was changed/],
    ['was shortened', { size: 5 }, checkpointOf(12), /the log was shortened/],
    ['proves another leaf', { inclusion: { leaf_index: 7 } }, checkpointOf(5), /version 3 is not in the log/],
    ['proves another version', { inclusion: { version: 1 } }, checkpointOf(5), /version 1 is not in the log/],
    ['has more of the history', { inclusion: { version: 4 } }, checkpointOf(5), /the log has version 4/],
    ['leaves out a version that is dated before the checkpoint', {}, checkpointOf(4), gap],
    [
      'signs with another key',
      { newest: checkpointOf(12, {}, unknown) },
      checkpointOf(5),
      /the newest checkpoint names the key .+, which is unknown/,
    ],
    [
      'never signed the checkpoint that was kept',
      {},
      checkpointOf(5, {}, unknown),
      /the checkpoint that was kept names the key .+, which is unknown/,
    ],
    ['never signed it so', {}, checkpointOf(5).replace('"tree_size": 5', '"tree_size": 4'), /is not what was signed/],
  ])('rejects the history of a log that %s', async (_, { size = 12, ...answers }, kept, why) => {
    instanceOf(size, answers)
    expect(await verify(kept)).toMatchObject({ code: 5, result: 'not_valid', detail: expect.stringMatching(why) })
  })

  it('requires a checkpoint of the account in the file, --verify, and an instance that has a log', async () => {
    instanceOf(12)
    expectExit(await verify(checkpointOf(5, { account_id: uuid(7) })), 5, account)
    expect(await cli.run(['history', id, '--checkpoint', 'x'])).toMatchObject({ code: 2 })
    expect((await cli.run(['history', id, '--verify', '--checkpoint', join(folder.path, 'none')])).stderr).toContain(
      'there is no file',
    )
    cli.instance.use(
      http.get('*/api/v1/log/checkpoint', () => fails(404, 'not_found')),
      answers('get', '*/openapi.json', { paths: {} }),
    )
    expect(await verify(checkpointOf(5))).toMatchObject({ code: 2, stderr: expect.stringContaining('has no log') })
  })
})
