import { readdirSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

const folder = new URL('../../src/contract/documents/schemas/', import.meta.url)
const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
formats.default(ajv)
for (const name of readdirSync(folder)) ajv.addSchema(JSON.parse(readFileSync(new URL(name, folder), 'utf8')))

/** What a signed document has against the published schema of its type and version. */
export function schemaProblems(text: string): string[] {
  const document = JSON.parse(text)
  const id = `urn:consentctl:schema:${document.type.replaceAll('_', '-')}:${document.version}`
  const validate = ajv.getSchema(id)
  if (!validate) return [`there is no schema ${id}`]
  return validate(document) ? [] : [ajv.errorsText(validate.errors)]
}
