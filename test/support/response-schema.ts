import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { expect } from 'vitest'
import { describeApi } from '../../server/openapi/document.ts'
import { codesOf, errorResponses, statusOf } from '../../server/openapi/responses.ts'
import type { ServiceResponse } from './service.ts'

/** A Response Object of OpenAPI, as far as it is checked. */
interface ResponseObject {
  readonly headers: Readonly<Record<string, object>>
  readonly content?: Readonly<Record<string, object>>
}

/** The document, as far as it is checked. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { responses: Record<string, object> }>>>>
  readonly components: { readonly headers: Readonly<Record<string, { required?: boolean }>> }
}

const id = 'openapi'
const document = describeApi() as Document
const ajv = new Ajv2020({ allErrors: true, strictTypes: false })
formats.default(ajv)
ajv.addVocabulary(['openapi', 'info', 'servers', 'tags', 'paths', 'components'])
ajv.addSchema(document, id)

const templates = Object.keys(document.paths).map(template => ({
  template,
  pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`),
}))

/** Expects an answer of the service to be as the OpenAPI document says: its status, headers and body. */
export function expectDocumented(method: string, url: string, answer: ServiceResponse): void {
  const pointer = findResponse(method, url, answer)
  if (pointer === null) return
  const problems = pointer ? [...checkHeaders(pointer, answer), ...checkBody(pointer, answer)] : ['status']
  expect(problems, `${method} ${url} answered ${answer.status} ${answer.text}`).toEqual([])
}

/** What a value has against the schema at a JSON pointer into the document; compiled when it is first needed. */
export function validateAt(pointer: string, value: unknown): string[] {
  const validate = ajv.getSchema(`${id}#${pointer}`)
  if (!validate) throw new Error(`there is no schema at ${pointer}`)
  return validate(value) ? [] : [ajv.errorsText(validate.errors)]
}

/** The pointer to an answer's response: undefined where there is none, null where nothing is known of such a request. */
function findResponse(method: string, url: string, { status, body }: ServiceResponse): string | undefined | null {
  const path = url.replace(/[?#].*/s, '')
  const { template = '' } = templates.find(({ pattern }) => pattern.test(path)) ?? {}
  const operation = document.paths[template]?.[method.toLowerCase()]
  if (operation) {
    const response = operation.responses[status] as { $ref?: string } | undefined
    const here = `/paths/${escapePointer(template)}/${method.toLowerCase()}/responses/${status}`
    return response && (response.$ref?.slice(1) ?? here)
  }
  if (status < 400) return null
  const refusal = Object.entries(errorResponses).find(
    ([, one]) => statusOf(one) === status && codesOf(one).includes(body?.error),
  )
  return refusal && `/components/responses/${refusal[0]}`
}

function checkHeaders(pointer: string, answer: ServiceResponse): string[] {
  const documented = (at(pointer) as ResponseObject).headers
  return Object.entries(document.components.headers).flatMap(([name, { required }]) => {
    const values = [answer.headers[name.toLowerCase()] ?? []].flat()
    if (!(name in documented)) return values.map(() => `${name} is not documented`)
    if (required && values.length === 0) return [`${name} is missing`]
    return values.flatMap(value => checkHeader(`/components/headers/${name}/schema`, name, value))
  })
}

function checkHeader(pointer: string, name: string, text: string): string[] {
  const { type } = at(pointer) as { type: string }
  const value = type === 'integer' ? Number(text) : text
  return validateAt(pointer, value).map(problem => `${name}: ${problem}`)
}

function checkBody(pointer: string, { headers, text, body }: ServiceResponse): string[] {
  const { content } = at(pointer) as ResponseObject
  if (!content) return text === '' ? [] : ['a body']
  const type = String(headers['content-type']).replace(/;.*/, '')
  if (!(type in content)) return [`Content-Type: ${type}`]
  if (!('schema' in Object(content[type]))) return []
  const value = /[/+]json$/.test(type) ? body : text
  return validateAt(`${pointer}/content/${escapePointer(type)}/schema`, value)
}

/** What is at a JSON pointer into the document (RFC 6901). */
function at(pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (value, key) => (value as Record<string, unknown>)[key.replaceAll('~1', '/').replaceAll('~0', '~')],
      document,
    )
}

function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}
