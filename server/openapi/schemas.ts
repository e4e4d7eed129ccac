import * as z from 'zod'
import * as contract from '../../src/contract/index.ts'

export type JsonSchema = z.core.JSONSchema.BaseSchema

/** Schemas of JSON Schema 2020-12 for some of the contract. */
export interface Schemas {
  /** Those that the contract exports, by the names it gives them. */
  readonly named: Readonly<Record<string, JsonSchema>>
  /** A schema as it is written where it is used: a reference where it has a name. */
  of(schema: z.ZodType): JsonSchema
}

/** A reference to a component of the document. */
export function refTo(kind: 'schemas' | 'responses' | 'headers', name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` }
}

/** The parameters of a path or a query, as what the contract makes of their text. */
export function describeParameters(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'output', override: keepGivenType, unrepresentable: 'any' })
}

/** What the bodies of requests may hold. */
export function describeInput(schemas: readonly z.ZodType[]): Schemas {
  return describe(schemas, 'input', isStrict, keepGivenType)
}

/** What this service answers, which is less than the contract takes from other instances. */
export function describeOutput(schemas: readonly z.ZodType[]): Schemas {
  return describe(schemas, 'output', schema => !isStrict(schema), promise)
}

type Override = NonNullable<z.core.ToJSONSchemaParams['override']>

function describe(
  schemas: readonly z.ZodType[],
  io: 'input' | 'output',
  isKind: (schema: z.ZodObject) => boolean,
  override: Override,
): Schemas {
  const exported = Object.entries(contract).filter(
    (entry): entry is [string, z.ZodObject] => entry[1] instanceof z.ZodObject && isKind(entry[1]),
  )
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of exported) registry.add(schema, { id })
  for (const [index, schema] of schemas.entries()) {
    if (!registry.has(schema)) registry.add(schema, { id: `unnamed ${index}` })
  }
  const uri = (id: string) => refTo('schemas', id).$ref
  const made = z.toJSONSchema(registry, { io, uri, override, unrepresentable: 'any' }).schemas
  const plain = (id: string) => {
    const { $schema: _, $id: __, ...schema } = made[id] as JsonSchema
    return schema
  }
  return {
    named: Object.fromEntries(exported.map(([id]) => [id, plain(id)])),
    of: schema => {
      const id = registry.get(schema)?.id ?? ''
      return id.startsWith('unnamed') ? plain(id) : refTo('schemas', id)
    },
  }
}

/** In the contract what is sent is strict, and what is answered is not. */
function isStrict({ def }: z.ZodObject): boolean {
  return def.catchall?._zod.def.type === 'never'
}

/** A union with a type of its own may be given in several forms to the client, and has one in a request. */
const keepGivenType: Override = ({ jsonSchema }) => {
  if (jsonSchema.type !== undefined) delete jsonSchema.anyOf
}

/**
 * This service leaves no field out, and a field is null only where it can have no value: what the contract catches, falls
 * back from, or marks with `nullable: false`, it does for other instances.
 */
const promise: Override = ({ zodSchema, jsonSchema }) => {
  const { type } = zodSchema._zod.def
  if (type === 'object') jsonSchema.required = Object.keys(jsonSchema.properties ?? {})
  delete jsonSchema.default
  if (type !== 'catch' && jsonSchema['nullable'] !== false) return
  const [value] = jsonSchema.anyOf ?? []
  delete jsonSchema.anyOf
  delete jsonSchema['nullable']
  Object.assign(jsonSchema, value)
}
