import { beforeEach, expect, it } from 'vitest'
import { forEachAccount } from '../../../server/db/accounts.ts'
import { useDatabase } from '../../support/database.ts'

const database = useDatabase()
const { signal } = new AbortController()

/** A node whose work is to move accounts from the plan `free` to `pro`. */
function newNode() {
  const { sql } = database
  const node = {
    begun: [] as string[],
    moved: 0,
    lists: 0,
    list,
    work,
    run: () => forEachAccount(sql, { signal, ...node }),
  }
  async function list(among: ReturnType<typeof sql>, limit: number) {
    node.lists += 1
    return await sql<{ account_id: string }[]>`
      select account_id from accounts where account_id ${among} and plan = 'free' order by account_id limit ${limit}`
  }
  async function work({ account_id }: { account_id: string }) {
    node.begun.push(account_id)
    const moved = await sql`
      update accounts set plan = 'pro' where account_id = ${account_id} and plan = 'free' returning account_id`
    node.moved += moved.length
    return moved.length > 0
  }
  return node
}

async function addAccounts(count: number): Promise<string[]> {
  const rows = await database.sql<{ account_id: string }[]>`
    insert into accounts (account_id, plan, created_at)
    select gen_random_uuid(), 'free', now() from generate_series(1, ${count}) returning account_id`
  return rows.map(({ account_id }) => account_id)
}

beforeEach(async () => {
  await database.sql`delete from accounts`
})

it('forEachAccount › lists a thousand accounts in one query, and takes each once, in no fixed order', async () => {
  const ids = await addAccounts(999)
  const node = newNode()
  expect(await node.run()).toEqual({ failures: [], isPartial: false })
  expect([node.lists, node.moved]).toEqual([1, 999])
  expect(node.begun.toSorted()).toEqual(ids.toSorted())
  expect(node.begun).not.toEqual(ids.toSorted())
})

it('forEachAccount › lists further accounts after the first thousand', async () => {
  await addAccounts(1500)
  const node = newNode()
  await node.run()
  expect([node.lists, node.moved]).toEqual([2, 1500])
})

it('forEachAccount › when several nodes work at once, shares the accounts among them', async () => {
  await addAccounts(600)
  const nodes = [newNode(), newNode(), newNode()]
  await Promise.all(nodes.map(({ run }) => run()))
  const sum = (read: (node: (typeof nodes)[number]) => number) => nodes.reduce((all, node) => all + read(node), 0)
  expect(sum(({ moved }) => moved)).toBe(600)
  expect(Math.min(...nodes.map(({ moved }) => moved))).toBeGreaterThan(60)
  expect(sum(({ begun }) => begun.length)).toBeLessThan(900)
})

it.each([
  ['42P01', 1],
  ['CONNECTION_CLOSED', 2],
  ['08006', 2],
  ['57P01', 2],
] as const)(
  'forEachAccount › when the work of an account fails with %s, names the account, and works for the others',
  async (code, lists) => {
    const [bad = '', ...others] = await addAccounts(20)
    const node = newNode()
    const { work } = node
    const error = Object.assign(new Error('failed'), { code })
    node.work = async row => {
      if (row.account_id !== bad) return await work(row)
      node.begun.push(bad)
      throw error
    }
    expect(await node.run()).toEqual({ failures: [[bad, error]], isPartial: false })
    expect(node.begun.toSorted()).toEqual([bad, ...others].toSorted())
    expect([node.moved, node.lists]).toEqual([others.length, lists])
  },
)

it.each(['57014', '55P03', '53300'])('forEachAccount › when the work of all fails with %s, lists once', async code => {
  await addAccounts(20)
  const node = newNode()
  node.work = () => Promise.reject(Object.assign(new Error('failed'), { code }))
  expect((await node.run()).failures).toHaveLength(20)
  expect(node.lists).toBe(1)
})

it('forEachAccount › when it is aborted, begins no other account', async () => {
  await addAccounts(20)
  const stop = new AbortController()
  const node = newNode()
  const { work } = node
  node.work = async row => {
    stop.abort()
    return await work(row)
  }
  await forEachAccount(database.sql, { ...node, signal: stop.signal, atOnce: 1 })
  expect(node.begun).toHaveLength(1)
})
