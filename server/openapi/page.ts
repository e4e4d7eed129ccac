// The description of the API as a page for people: no script, and nothing from elsewhere.

import { createHash } from 'node:crypto'

type Content = Readonly<Record<string, { readonly example?: unknown }>>

interface ApiResponse {
  readonly $ref?: string
  readonly description?: string
  readonly content?: Content
}

interface ApiOperation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly description?: string
    readonly example?: unknown
  }[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, ApiResponse>>
}

export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>
  readonly components: { readonly responses: Readonly<Record<string, ApiResponse>> }
}

const style = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
h2 { margin-top: 2.5rem }
details { border-top: 1px solid #8886; padding: .4rem 0 }
summary { cursor: pointer }
code, pre { font: 14px/1.4 ui-monospace, monospace; overflow-wrap: anywhere }
pre { white-space: pre-wrap; background: #8881; padding: .5rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; border-top: 1px solid #8884 }
`

export const pagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function renderPage(document: ApiDocument): string {
  const { title, version, description } = document.info
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const sections = document.tags.map(tag => {
    const own = operations.filter(({ operation }) => operation.tags.includes(tag.name))
    const items = own.map(one => renderOperation(document, one)).join('\n')
    return `<section><h2 id="${toHtml(tag.name)}">${toHtml(tag.name)}</h2>${prose(tag.description)}${items}</section>`
  })
  const links = document.tags.map(({ name }) => `<a href="#${toHtml(name)}">${toHtml(name)}</a>`).join(' · ')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${toHtml(title)}: API</title><style>${style}</style></head>
<body><h1>${toHtml(title)}: API ${toHtml(version)}</h1>${prose(description)}
<p>For programs: <a href="openapi.json">openapi.json</a></p><nav>${links}</nav>
${sections.join('\n')}</body></html>
`
}

function renderOperation(
  { components }: ApiDocument,
  { path, method, operation }: { path: string; method: string; operation: ApiOperation },
): string {
  const { operationId, summary, description = '', parameters = [], requestBody, responses } = operation
  const scopes = [...new Set(operation.security.flatMap(one => Object.values(one).flat()))]
  const inputs = parameters.map(one => [
    `<code>${toHtml(one.name)}</code>`,
    `${one.in}${one.required ? ', required' : ''}`,
    prose(one.description ?? ''),
    `<code>${toHtml(String(one.example))}</code>`,
  ])
  const outcomes = Object.entries(responses).map(([status, response]) => {
    const { $ref = '' } = response
    const { description = '', content } = $ref
      ? (components.responses[$ref.split('/').at(-1) ?? ''] ?? response)
      : response
    return [status, prose(description) + ($ref ? '' : renderExamples(content))]
  })
  return `<details id="${toHtml(operationId)}"><summary><code><b>${method}</b> ${toHtml(path)}</code> ${inline(summary)}</summary>
${prose(description)}${scopes.length > 0 ? `<p>API key with the scope ${scopes.map(toHtml).join(' or ')}</p>` : ''}
${table(inputs)}${requestBody ? `<h4>Body</h4>${renderExamples(requestBody.content)}` : ''}<h4>Responses</h4>${table(outcomes)}</details>`
}

function renderExamples(content: Content = {}): string {
  const examples = Object.entries(content).map(([type, { example = '' }]) => {
    const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2)
    return `<p><code>${toHtml(type)}</code></p>${text && `<pre>${toHtml(text)}</pre>`}`
  })
  return examples.join('')
}

function table(rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const cells = rows.map(row => `<tr>${row.map(cell => `<td>${cell}</td>`).join('')}</tr>`)
  return `<table>${cells.join('\n')}</table>`
}

function prose(markdown: string): string {
  return markdown === '' ? '' : inline(markdown).replace(/^|\n\n/g, '<p>')
}

function inline(markdown: string): string {
  return toHtml(markdown)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]+)\*\*/g, '<b>$1</b>')
}

function toHtml(text: string): string {
  return text.replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`)
}
