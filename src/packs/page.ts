import { visible } from '../output/safe.ts'
import type { PackContent } from './content.ts'
import { describeAnswers, describeFiles, describeRecord, listTexts, type PackOrigin, unverified } from './words.ts'

/** No script, image or request; only the style below. */
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

const style = `body{font:11pt/1.45 Georgia,serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#111}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse;width:100%}th,td{border-bottom:1px solid #bbb;padding:.3rem .6rem .3rem 0;text-align:left;vertical-align:top;overflow-wrap:anywhere}
th{font-weight:600}code{font:9pt/1.4 monospace;overflow-wrap:anywhere}
@media print{body{margin:0;max-width:none}tr,li{break-inside:avoid}}`

export function formatPackPage(pack: PackContent, origin: PackOrigin): string {
  const texts = listTexts(pack).map(({ language, mediaType, file, sha256 }) => [
    language,
    mediaType,
    file,
    code(sha256),
  ])
  const answers = describeAnswers(pack.history)
  const events = pack.history.map((entry, index) => [
    String(entry.version),
    entry.action ?? '',
    entry.given_at ? `${entry.created_at}; answered at ${entry.given_at}, as the importer told it` : entry.created_at,
    `${entry.changed_by ?? ''} ${entry.actor_id ?? ''}`,
    answers[index] ?? '',
    JSON.stringify(entry.preferences),
  ])
  const administration = pack.administration.map(({ entry }) => [
    String(entry.version),
    entry.action,
    entry.at,
    `${entry.actor.kind} ${entry.actor.id ?? ''}`,
  ])
  const files = describeFiles(pack, origin).map(({ name, shows, lacks }) => [name, shows, lacks])
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<title>Evidence of a consent record</title>
<style>${style}</style>
</head>
<body>
<h1>Evidence of a consent record</h1>
<p>As ${escapeHtml(origin.instance)} showed it at ${escapeHtml(origin.created_at)}.${origin.isSealed ? '' : ` ${unverified}`} This page proves nothing by itself: it repeats what the other files of its folder say. README.txt there has the commands to check them.</p>
<h2>What is said</h2>
${table(null, describeRecord(pack))}
<h2>Events</h2>
${table(['', 'Event', 'At', 'By', 'Answer', 'Preferences'], events)}
${pack.notice ? `<h2>Texts of the notice</h2>\n${table(['Language', 'Type', 'File', 'SHA-256'], texts)}\n` : ''}${administration.length > 0 ? `<h2>Changes of settings</h2>\n${table(['', 'Change', 'At', 'By'], administration)}\n` : ''}<h2>The files: what each shows, and what it does not</h2>
${table(['File', 'Shows', 'Does not show'], files)}
</body>
</html>
`
}

interface Markup {
  readonly html: string
}

function code(text: string): Markup {
  return { html: `<code>${escapeHtml(text)}</code>` }
}

function table(head: readonly string[] | null, rows: readonly (readonly (string | Markup)[])[]): string {
  const cells = (tag: string, row: readonly (string | Markup)[]) =>
    `<tr>${row.map(cell => `<${tag}>${typeof cell === 'string' ? escapeHtml(cell) : cell.html}</${tag}>`).join('')}</tr>`
  const lines = [...(head ? [cells('th', head)] : []), ...rows.map(row => cells('td', row))]
  return `<table>\n${lines.join('\n')}\n</table>`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Deceptive characters become `\u{…}`. */
function escapeHtml(text: string): string {
  return visible(text.replace(/\s+/g, ' ')).replace(/[&<>"']/g, each => entities[each] ?? '')
}
