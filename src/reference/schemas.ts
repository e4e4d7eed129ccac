import * as z from 'zod'
import { signed } from '../contract/documents/fields.ts'
import { documents } from '../contract/documents/index.ts'

/** The JSON Schema (2020-12) of each kind of signed document, signature and all, by the name of its file. */
export function schemaFiles(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(documents).map(([type, { title, version, schema }]) => {
      const name = type.replaceAll('_', '-')
      const { $schema, ...rest } = z.toJSONSchema(signed(schema), { io: 'input' })
      const file = { $schema, $id: `urn:consentctl:schema:${name}:${version}`, title, ...rest }
      return [`${name}.v${version}.schema.json`, `${JSON.stringify(file, null, 2)}\n`]
    }),
  )
}
