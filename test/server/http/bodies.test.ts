import { beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { expectClientError, useLedger } from './ledger.ts'
import { type Target, takers } from './takers.ts'
import { keptValues, notJson, notValues } from './texts.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

describe.each(takers)('$name', taker => {
  let target: Target
  beforeAll(async () => {
    target = await taker.open(owner)
  })
  const ledger = useLedger(service)

  const body = (members = '') => {
    const required = JSON.stringify(target.required).slice(1, -1)
    return `{${[required, members].filter(Boolean).join()}}`
  }
  const holder = taker.free ?? 'unknown'
  const holding = (json: string) => body(`"${holder}":{"a":${json}}`)

  const refuse = async (sent: string | Uint8Array) => {
    const before = await target.state()
    const answer = await target.send(sent)
    ledger.note(answer)
    expectClientError(answer, 400)
    expect(await target.state()).toEqual(before)
  }

  it.each(notJson)('refuses %s', async (_what, make) => refuse(make(body, holder)))

  it.each(notValues)('refuses a value that is %s', async (_what, json) => refuse(holding(json)))

  it.each(taker.free ? keptValues : [])('keeps %s', async (_what, json) => {
    const answer = await target.send(holding(json))
    ledger.note(answer)
    expect(answer.status, answer.text).toBe(taker.endpoint.status)
    await target.expectStored(answer, { ...target.required, [holder]: { a: JSON.parse(json) } })
  })

  it('refuses 5,000 unknown fields with a message that a person can read', async () => {
    const names = Array.from({ length: 5000 }, (_, index) => `"field ${index}":1`)
    const answer = await target.send(body(names.join()))
    expectClientError(answer, 400)
    expect(answer.text.length).toBeLessThan(1000)
  })

  it.each(Object.keys(taker.fields))('refuses %s under a name that only looks like its own', async field => {
    const [first = '', ...rest] = field
    const names = [
      first.toUpperCase() + rest.join(''),
      `${field} `,
      ` ${field}`,
      `${field}\u200b`,
      `${field}[]`,
    ]
    for (const name of [...names, field.replaceAll('_', '-'), `body.${field}`]) {
      if (name !== field) await refuse(body(`${JSON.stringify(name)}:true`))
    }
  })
})
