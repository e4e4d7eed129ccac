import { beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { keptValues, notJson, notValues } from './body-texts.ts'
import { expectClientError, useRecordCount } from './record-count.ts'
import { type Target, writeEndpoints } from './write-endpoints.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

describe.each(writeEndpoints)('request bodies › $name', writeEndpoint => {
  let target: Target
  beforeAll(async () => {
    target = await writeEndpoint.open(owner)
  })
  const recordCount = useRecordCount(service)

  const body = (members = '') => {
    const required = JSON.stringify(target.required).slice(1, -1)
    return `{${[required, members].filter(Boolean).join()}}`
  }
  const holder = writeEndpoint.free ?? 'unknown'
  const holding = (json: string) => body(`"${holder}":{"a":${json}}`)

  const refuse = async (sent: string | Uint8Array) => {
    const before = await target.state()
    const answer = await target.send(sent)
    recordCount.add(answer)
    expectClientError(answer, 400)
    expect(await target.state()).toEqual(before)
  }

  it.each(notJson)('rejects %s', async (_what, make) => refuse(make(body, holder)))

  it.each(notValues)('rejects a value that is %s', async (_what, json) => refuse(holding(json)))

  it.each(writeEndpoint.free ? keptValues : [])('stores %s', async (_what, json) => {
    const answer = await target.send(holding(json))
    recordCount.add(answer)
    expect(answer.status, answer.text).toBe(writeEndpoint.endpoint.status)
    await target.expectStored(answer, { ...target.required, [holder]: { a: JSON.parse(json) } })
  })

  it('rejects 5,000 unknown fields with a short message', async () => {
    const names = Array.from({ length: 5000 }, (_, index) => `"field ${index}":1`)
    const answer = await target.send(body(names.join()))
    expectClientError(answer, 400)
    expect(answer.text.length).toBeLessThan(1000)
  })

  it.each(Object.keys(writeEndpoint.fields))('rejects %s under a similar name', async field => {
    const [first = '', ...rest] = field
    const names = [first.toUpperCase() + rest.join(''), `${field} `, ` ${field}`, `${field}\u200b`, `${field}[]`]
    for (const name of [...names, field.replaceAll('_', '-'), `body.${field}`]) {
      if (name !== field) await refuse(body(`${JSON.stringify(name)}:true`))
    }
  })
})
