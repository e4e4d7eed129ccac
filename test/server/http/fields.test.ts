import { beforeAll, describe, expect, it } from 'vitest'
import { consents } from '../../../src/contract/index.ts'
import { useService } from '../../support/service.ts'
import { newOwner } from '../consents/records.ts'
import { fieldsOf } from './arbitraries.ts'
import { oddValues } from './odd-values.ts'
import { expectClientError, useRecordCount } from './record-count.ts'
import { type Target, writeEndpoints } from './write-endpoints.ts'

const service = useService()

it('body fields › the tables list every record endpoint with a body', () => {
  const taking = Object.values(consents).filter(({ body }) => body !== undefined)
  expect(writeEndpoints.map(({ endpoint }) => endpoint)).toEqual(expect.arrayContaining(taking))
})

describe.each(writeEndpoints)('body fields › $name', writeEndpoint => {
  let target: Target
  beforeAll(async () => {
    target = await writeEndpoint.open(await newOwner(service))
  })
  const recordCount = useRecordCount(service)

  const cases = Object.entries(writeEndpoint.fields).flatMap(([field, kinds]) =>
    oddValues.map(([what, json, kind]) => ({
      field,
      what,
      json,
      isOwn: kind !== undefined && kinds.includes(kind),
    })),
  )

  it.each(cases.filter(({ isOwn }) => isOwn))(
    'accepts $what for $field and stores it unchanged',
    async ({ field, json }) => {
      const answer = await target.send(bodyWith(field, json))
      recordCount.add(answer)
      expect(answer.status, answer.text).toBe(writeEndpoint.endpoint.status)
      await target.expectStored(answer, { ...target.required, [field]: JSON.parse(json) })
    },
  )

  it.each(cases.filter(({ isOwn }) => !isOwn))('rejects $what for $field', async ({ field, json }) => {
    const before = await target.state()
    const answer = await target.send(bodyWith(field, json))
    recordCount.add(answer)
    expectClientError(answer, 400)
    expect(await target.state()).toEqual(before)
  })

  it('has a row for each field of its schema', () => {
    expect(Object.keys(writeEndpoint.fields).sort()).toEqual(Object.keys(fieldsOf(writeEndpoint.endpoint.body)).sort())
  })

  /** A body that is valid but for one member, whose value is given as JSON text. */
  function bodyWith(field: string, json: string): string {
    const others = Object.entries({ ...target.required }).filter(([name]) => name !== field)
    const members = [...others.map(([name, value]) => [name, JSON.stringify(value)]), [field, json]]
    return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
  }
})
