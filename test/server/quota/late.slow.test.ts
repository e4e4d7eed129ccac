import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { useService } from '../../support/service.ts'

const service = useService()

it('when a unit is spent after the deadline of its request, it is refunded', async () => {
  const { key, accountId } = await service.newAccount({ monthlyQuota: 10 })
  const list = () => service.call('GET', '/api/v1/consents', { key })
  expect((await list()).headers['x-quota-remaining']).toBe('9')
  let begin = () => {}
  const isHeld = new Promise<void>(resolve => {
    begin = resolve
  })
  const held = service.sql.begin(async tx => {
    await tx`select from usage where account_id = ${accountId} for update`
    begin()
    await delay(5250) // after the deadline, and before the driver gives the connection up
  })
  await isHeld
  expect((await list()).status).toBe(503)
  await held
  const oneUsed = async () => {
    const [row] = await service.sql<{ used: number }[]>`
      select used::integer from usage where account_id = ${accountId}`
    expect(row?.used).toBe(1)
  }
  await vi.waitFor(oneUsed, { timeout: 5000 })
  expect((await list()).headers['x-quota-remaining']).toBe('8')
})
