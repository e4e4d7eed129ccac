// Values for the contract's schemas, made from the schemas themselves.
import fc from 'fast-check'
import * as z from 'zod'
import { parseExactJson } from '../../../src/contract/index.ts'

type JsonSchema = z.core.JSONSchema.BaseSchema

/** Text that PostgreSQL and JSON both keep. */
const text = fc.string({ unit: 'binary', maxLength: 40 }).filter(value => !value.includes('\0'))

const number = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -1, max: 2 }),
  fc.double({ min: -1, max: 1, noNaN: true }).map(value => value + 0), // JSON.stringify has no -0
)

const anyDate = fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })
const pastDate = fc.date({ min: new Date('1990-01-01'), max: new Date('2026-01-01'), noInvalidDate: true })

/** Texts of every form that a field may ask for; the field's own schema chooses among them. */
const anyText = fc.oneof(
  text,
  fc.uuid(),
  anyDate.map(date => date.toISOString()),
  fc.oneof(fc.ipV4(), fc.ipV6()),
  fc.emailAddress(),
  fc.webUrl().map(url => new URL(url).origin),
  fc.integer({ min: -1, max: 200 }).map(String),
)

/** Whether an endpoint takes a body, by its text: as JSON that says one thing, and by the schema. */
export function takes(schema: z.ZodType, body: string): boolean {
  try {
    return schema.safeParse(parseExactJson(body)).success
  } catch {
    return false
  }
}

/** Objects that a schema takes, in any choice of their optional fields; `known` are further values by field. */
export function anyOf(
  schema: z.ZodType,
  known: Readonly<Record<string, readonly unknown[]>> = {},
): fc.Arbitrary<Record<string, unknown>> {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const fields = Object.entries(fieldsOf(schema)).map(([name, field]) => {
    const values = fromJsonSchema(properties[name] as JsonSchema)
    const candidates = known[name] ? fc.oneof(fc.constantFrom(...known[name]), values) : values
    return [name, candidates.filter(value => takes(field, JSON.stringify(value)))] as const
  })
  const any = fc.record(Object.fromEntries(fields), { requiredKeys: required, noNullPrototype: true })
  return any.filter(value => takes(schema, JSON.stringify(value)))
}

/** The schema of each field of an object; throws for a schema of anything else. */
export function fieldsOf(schema: z.ZodType | undefined): Record<string, z.ZodType> {
  if (!(schema instanceof z.ZodObject)) throw new Error('not the schema of an object')
  return schema.shape
}

function fromJsonSchema(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(one => fromJsonSchema(one as JsonSchema)))
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'integer' || schema.type === 'number') return anyInteger(schema)
  if (schema.format === 'date-time') return fc.oneof(anyDate, pastDate).map(date => date.toISOString())
  if (schema.type === 'string') return schema.pattern ? fc.stringMatching(new RegExp(schema.pattern)) : anyText
  if (schema.type === 'array') return fc.array(fromJsonSchema(schema.items as JsonSchema), { maxLength: 4 })
  if (schema.type === 'object' && schema.properties) {
    const fields = Object.entries(schema.properties).map(([name, field]) => [name, fromJsonSchema(field as JsonSchema)])
    return fc.record(Object.fromEntries(fields), {
      requiredKeys: [...(schema.required ?? [])] as never[],
      noNullPrototype: true,
    })
  }
  if (schema.type === 'object') {
    return fc.object({ key: text, values: [text, number, fc.boolean(), fc.constant(null)], maxDepth: 3 })
  }
  throw new Error(`no values for the schema ${JSON.stringify(schema)}`)
}

/** Integers within a schema's bounds, and often at them. */
function anyInteger({ minimum = 0, maximum = 1000 }: JsonSchema): fc.Arbitrary<number> {
  return fc.oneof(fc.integer({ min: minimum, max: maximum }), fc.constantFrom(minimum, maximum))
}

/** A change that is likely to spoil a body: `apply` makes its text of the text of a valid one. */
interface Mutation {
  readonly what: string
  apply(valid: Readonly<Record<string, unknown>>): string | Uint8Array
}

/** What can happen to a body on its way from somebody who means well, and from somebody who does not. */
export function anyMutation(fields: readonly string[]): fc.Arbitrary<Mutation> {
  const name = fc.constantFrom(...fields)
  const anyJson = fc.oneof(
    fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }).map(value => JSON.stringify(value)),
    fc.constantFrom('1e400', '-0', '9007199254740993', '"\\u0000"', '"\\ud800"', '{"__proto__":1}', '{"a":1,"a":2}'),
  )
  const member = (key: string, json: string) => `${JSON.stringify(key)}:${json}`
  const joined = (...members: string[]) => `{${members.filter(Boolean).join()}}`
  const inner = (value: object) => JSON.stringify(value).slice(1, -1)
  const without = (valid: object, key: string) =>
    inner(Object.fromEntries(Object.entries(valid).filter(([one]) => one !== key)))
  const bytesAt = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 })
  return fc.oneof(
    fc.tuple(name, anyJson).map(([key, json]) => ({
      what: `${key} is ${json}`,
      apply: (valid: object) => joined(without(valid, key), member(key, json)),
    })),
    fc
      .tuple(
        fc.oneof(
          text,
          name.map(key => key.toUpperCase()),
        ),
        anyJson,
      )
      .map(([key, json]) => ({
        what: `${key} is added`,
        apply: (valid: object) => joined(inner(valid), member(key, json)),
      })),
    fc.tuple(name, anyJson).map(([key, json]) => ({
      what: `${key} comes again`,
      apply: (valid: object) => joined(member(key, json), inner(valid)),
    })),
    name.map(key => ({ what: `no ${key}`, apply: (valid: object) => joined(without(valid, key)) })),
    anyJson.map(json => ({ what: `${json} alone`, apply: () => json })),
    fc.uint8Array({ maxLength: 300 }).map(bytes => ({ what: 'any bytes', apply: () => bytes })),
    bytesAt.map(changes => ({
      what: `other bytes at ${changes}`,
      apply: (valid: object) => {
        const bytes = Uint8Array.from(Buffer.from(JSON.stringify(valid)))
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte
        return bytes
      },
    })),
  )
}
