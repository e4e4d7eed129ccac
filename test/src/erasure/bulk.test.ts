import { HttpResponse, http } from 'msw'
import { beforeEach, describe, expect, it } from 'vitest'
import { countSites } from '../../../src/erasure/found.ts'
import { answers, consent, fails, useCli, uuid } from '../support.ts'
import { type Holder, holds, lastReceipt, maria, place } from './instance.ts'

const cli = useCli()
const unnamed = { deleted: 0, records: [], already_deleted: [] }
let at: ReturnType<typeof place>
let instance: Holder
let calls: boolean[]
/** What a call that is no rehearsal is answered, once each, instead of being carried out. */
let refusals: (() => Response)[]

beforeEach(() => {
  at = place(cli)
  instance = holds(cli, 12)
  calls = []
  refusals = []
  cli.instance.use(
    answers('get', '*/api/v1/openapi.json', { paths: { '/api/v1/subjects/erase': { post: {} } } }),
    http.post('*/api/v1/subjects/erase', async ({ request }) => {
      const { dry_run = false } = (await request.json()) as { dry_run?: boolean }
      calls.push(dry_run)
      const refusal = dry_run ? undefined : refusals.shift()
      if (refusal) return refusal()
      const all = [...instance.records.values()]
      const sites = [...countSites(all)].map(([site_id, records]) => ({ site_id, records }))
      if (!dry_run) instance.records.clear()
      const counts = { erased: all.length, remaining: instance.records.size, complete: true, sites }
      return HttpResponse.json({ ...counts, ...unnamed, dry_run, certificate: null })
    }),
  )
})

const erase = (...more: string[]) => at.run('erase', maria, '--ticket', 'T', ...more)
const resume = () => at.run('resume', 'last', '-o', 'json')
const carriedOut = () => calls.filter(isDry => !isDry).length

describe('what was deleted though no answer told, and the service then has nothing left of', () => {
  it('is no person without data: of each record it is said that it is not known who deleted it', async () => {
    instance.beforeDelete = id => {
      instance.records.delete(id)
      return fails(507, 'server_error')
    }
    expect(await erase('--yes')).toMatchObject({ code: 7 })
    instance.quota = 0
    const { code, stdout } = await resume()
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toHaveLength(12)
    expect(await lastReceipt(at)).toMatchObject({
      result: 'erased',
      counts: { deleted: 0, already_gone: 0, deleted_in_bulk: 0, unknown: 12 },
      records: expect.arrayContaining([expect.objectContaining({ result: 'unknown', request_id: null })]),
    })
  })

  it('was deleted by somebody else, where nothing was ever sent', async () => {
    instance.quota = 2 // of the list and a deletion
    refusals = [() => fails(403, 'forbidden')]
    await erase('--yes')
    instance.records.clear()
    instance.quota = 0
    expect(await resume()).toMatchObject({ code: 0 })
    expect(await lastReceipt(at)).toMatchObject({ counts: { deleted: 1, already_gone: 11, unknown: 0 } })
  })
})

describe('where the quota ends on the way', () => {
  it.each([
    ['--confirm', async () => ['--confirm', '12']],
    [
      '--apply',
      async () => {
        const plan = `${at.state}.plan`
        await erase('--plan-out', plan)
        return ['--apply', plan, '--yes']
      },
    ],
  ])('nothing is erased but what was named, with %s: neither then nor by resume', async (flag, flags) => {
    const given = await flags()
    instance.quota = 5
    const run = flag === '--apply' ? at.run('erase', ...given) : erase(...given)
    expect(await run).toMatchObject({ code: 6 })
    expect(await resume()).toMatchObject({ code: 6 })
    expect(calls).toEqual([])
    instance.quota = 100
    expect(await resume()).toMatchObject({ code: 0 })
    expect(await lastReceipt(at)).toMatchObject({ counts: { deleted: 12 } })
  })

  it('nothing is erased that nobody has seen: what came meanwhile ends it with 10', async () => {
    instance.quota = 5
    instance.beforeDelete = () => {
      instance.records.set(uuid(70), consent({ id: uuid(70), site_id: uuid(900) }))
      return undefined
    }
    const { code, stderr } = await erase('--yes')
    expect(code).toBe(10)
    expect(stderr).toContain(`of site ${uuid(900)}`)
    expect([carriedOut(), instance.records.has(uuid(70))]).toEqual([0, true])
    expect(await resume()).toMatchObject({ code: 10 })
  })

  it('the service erases what is left, and its own counts are in the receipt', async () => {
    instance.quota = 5
    expect(await erase('--yes')).toMatchObject({ code: 0 })
    expect(await lastReceipt(at)).toMatchObject({
      counts: { deleted: 4, already_gone: 0, deleted_in_bulk: 8, unknown: 0 },
      records: expect.arrayContaining([expect.objectContaining({ result: 'deleted_in_bulk' })]),
    })
  })
})

describe('a call that the service refused', () => {
  it('is no answer that was lost, and the records are still there', async () => {
    instance.quota = 0
    refusals = [() => fails(403, 'forbidden')]
    const { code, stderr } = await erase('--yes')
    expect(code).toBe(4)
    expect(stderr).toContain('the records are not all erased yet')
    expect(await resume()).toMatchObject({ code: 0 })
    expect(await lastReceipt(at)).toMatchObject({ answers_lost: 0, counts: { deleted_in_bulk: 12 } })
  })
})
