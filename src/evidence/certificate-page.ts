import { visible } from '../output/safe.ts'
import type { Block, Certificate, Section, Words } from './certificate.ts'

/** One HTML page to print: no script, nothing from elsewhere. Foreign text is escaped, also where a reader would misread it. */
export function formatCertificate({ language, title, sections }: Certificate): string {
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
<main>
<h1>${escapeHtml(title)}</h1>
${sections.map(formatSection).join('\n')}
</main>
</html>
`
}

const style = `
:root { color-scheme: light }
* { box-sizing: border-box; margin: 0 }
body { background: #fff; color: #111; font: 9pt/1.18 "Liberation Sans", Arial, Helvetica, sans-serif }
main { max-width: 180mm; margin: 0 auto; padding: 8mm 4mm }
h1 { font-size: 15pt; margin-bottom: 2mm }
h2 { font-size: 10.5pt; margin: 1.4mm 0 0.5mm; break-after: avoid }
bdi, blockquote { overflow-wrap: anywhere }
.sentences p { display: inline }
.verdict { border: 0.4mm solid #111; margin-bottom: 1mm; padding: 1.2mm 2mm }
.verdict p:first-child { font-size: 10pt; font-weight: bold }
ul, ol { padding-left: 5mm }
table { border-collapse: collapse; width: 100%; margin: 0.8mm 0 }
th, td { border-bottom: 0.2mm solid #999; padding: 0.3mm 2mm 0.3mm 0; text-align: left; vertical-align: top }
tr { break-inside: avoid }
blockquote { border-left: 0.8mm solid #999; margin: 0.8mm 0; padding-left: 2.4mm; white-space: pre-wrap; font-family: "Liberation Serif", Georgia, serif }
.small, .identifiers { font-size: 7.5pt; line-height: 1.2 }
.identifiers th { font-weight: normal; white-space: nowrap }
.identifiers td { font-family: "Liberation Mono", "Courier New", monospace; font-size: 7pt; width: 100% }
@page { size: A4; margin: 7mm 12mm }
@media print { main { max-width: none; padding: 0 } }
`

function formatSection({ heading, blocks }: Section): string {
  const title = heading ? `<h2>${markup(heading)}</h2>\n` : ''
  return `<section>\n${title}${blocks.map(formatBlock).join('\n')}\n</section>`
}

function formatBlock(block: Block): string {
  switch (block.kind) {
    case 'quote':
      return `<blockquote lang="${escapeHtml(block.language)}" dir="auto">${block.text.split('\n').map(formatLine).join('\n')}</blockquote>`
    case 'table':
    case 'identifiers':
      return formatTable(block)
    case 'bullets':
      return `<ul>\n${formatItems(block.items, 'li')}\n</ul>`
    case 'steps':
      return `<ol>\n${formatItems(block.items, 'li')}\n</ol>`
    default:
      return `<div class="${block.kind}">\n${formatItems(block.items, 'p')}\n</div>`
  }
}

function formatLine(line: string): string {
  return escapeHtml(visible(line))
}

function formatItems(items: readonly Words[], tag: 'li' | 'p'): string {
  return items.map(item => `<${tag}>${markup(item)}</${tag}>`).join('\n')
}

type Table = Extract<Block, { readonly rows: unknown }>

function formatTable({ kind, head, rows }: Table): string {
  const first = kind === 'identifiers' ? 'th scope="row"' : 'td'
  const formatRow = (cells: readonly Words[], tag: (index: number) => string) =>
    `<tr>${cells.map((cell, index) => `<${tag(index)}>${markup(cell)}</${tag(index).replace(/ .*/, '')}>`).join('')}</tr>`
  return [
    `<table class="${kind}">`,
    ...(head.length > 0 ? [formatRow(head, () => 'th scope="col"')] : []),
    ...rows.map(cells => formatRow(cells, index => (index === 0 ? first : 'td'))),
    '</table>',
  ].join('\n')
}

function markup(words: Words): string {
  return words
    .map(word => (typeof word === 'string' ? escapeHtml(word) : `<bdi>${escapeHtml(visible(word.value))}</bdi>`))
    .join('')
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => entities[character] ?? '')
}
