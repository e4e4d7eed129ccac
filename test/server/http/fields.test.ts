import { beforeAll, describe, expect, it } from 'vitest'
import { consents } from '../../../src/contract/index.ts'
import { useService } from '../../support/service.ts'
import { newOwner } from '../consents/records.ts'
import { fieldsOf } from './arbitraries.ts'
import { expectClientError, useLedger } from './ledger.ts'
import { type Target, takers } from './takers.ts'
import { oddValues } from './values.ts'

const service = useService()

it('the tables have a row for every endpoint of records that takes a body', () => {
  const taking = Object.values(consents).filter(({ body }) => body !== undefined)
  expect(takers.map(({ endpoint }) => endpoint)).toEqual(expect.arrayContaining(taking))
})

describe.each(takers)('$name takes for a field exactly what is its own, and stores that as sent:', taker => {
  let target: Target
  beforeAll(async () => {
    target = await taker.open(await newOwner(service))
  })
  const ledger = useLedger(service)

  const cases = Object.entries(taker.fields).flatMap(([field, kinds]) =>
    oddValues.map(([what, json, kind]) => ({
      field,
      what,
      json,
      isOwn: kind !== undefined && kinds.includes(kind),
    })),
  )

  it.each(cases.filter(({ isOwn }) => isOwn))('$field takes $what', async ({ field, json }) => {
    const answer = await target.send(bodyWith(field, json))
    ledger.note(answer)
    expect(answer.status, answer.text).toBe(taker.endpoint.status)
    await target.expectStored(answer, { ...target.required, [field]: JSON.parse(json) })
  })

  it.each(cases.filter(({ isOwn }) => !isOwn))('$field refuses $what', async ({ field, json }) => {
    const before = await target.state()
    const answer = await target.send(bodyWith(field, json))
    ledger.note(answer)
    expectClientError(answer, 400)
    expect(await target.state()).toEqual(before)
  })

  it('has a row for each field of its schema', () => {
    expect(Object.keys(taker.fields).sort()).toEqual(Object.keys(fieldsOf(taker.endpoint.body)).sort())
  })

  /** A body that is valid but for one member, whose value is given as JSON text. */
  function bodyWith(field: string, json: string): string {
    const others = Object.entries({ ...target.required }).filter(([name]) => name !== field)
    const members = [...others.map(([name, value]) => [name, JSON.stringify(value)]), [field, json]]
    return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
  }
})
