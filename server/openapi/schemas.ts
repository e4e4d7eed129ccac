import * as z from 'zod'
import * as contract from '../../src/contract/index.ts'

export type JsonSchema = z.core.JSONSchema.BaseSchema

export interface Schemas {
  readonly isOutput: boolean
  readonly named: Readonly<Record<string, JsonSchema>>
  of(schema: z.ZodType): JsonSchema
}

export function refTo(kind: 'schemas' | 'responses' | 'headers', name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` }
}

export function describeParameters(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'output', override: keepGivenType, unrepresentable: 'any' })
}

export function describeInput(schemas: readonly z.ZodType[]): Schemas {
  return describe(schemas, 'input', isStrict, keepGivenType)
}

/** Describes this service only; the contract accepts more. */
export function describeOutput(schemas: readonly z.ZodType[]): Schemas {
  return describe(schemas, 'output', schema => !isStrict(schema), tightenOutput)
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
    isOutput: io === 'output',
    named: Object.fromEntries(exported.map(([id]) => [id, plain(id)])),
    of: schema => {
      const id = registry.get(schema)?.id ?? ''
      return id.startsWith('unnamed') ? plain(id) : refTo('schemas', id)
    },
  }
}

/** Only schemas of requests are strict. */
function isStrict({ def }: z.ZodObject): boolean {
  return def.catchall?._zod.def.type === 'never'
}

const keepGivenType: Override = ({ jsonSchema }) => {
  if (jsonSchema.type !== undefined) delete jsonSchema.anyOf
}

/**
 * Makes fields required that this service always returns, and removes fallbacks (`catch`, `default`, `nullable:
 * false`).
 */
const tightenOutput: Override = ({ zodSchema, jsonSchema }) => {
  const { type } = zodSchema._zod.def
  if (zodSchema instanceof z.ZodObject) {
    const isAlways = (name: string) => zodSchema.shape[name]?.meta()?.['onRequest'] !== true
    jsonSchema.required = Object.keys(jsonSchema.properties ?? {}).filter(isAlways)
  }
  delete jsonSchema.default
  delete jsonSchema['onRequest']
  if (type !== 'catch' && jsonSchema['nullable'] !== false) return
  const [value] = jsonSchema.anyOf ?? []
  delete jsonSchema.anyOf
  delete jsonSchema['nullable']
  Object.assign(jsonSchema, value)
}
