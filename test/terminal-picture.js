// The picture of a terminal in the README, from what the tour prints: node test/terminal-picture.js
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const tour = spawn(process.execPath, [fileURLToPath(new URL('demo.js', import.meta.url))], {
  env: { ...process.env, COLUMNS: '124' },
  stdio: ['ignore', 'pipe', 'inherit'],
})
const steps = (await text(tour.stdout)).split(/\n(?=# )/)
const shown = ['All that is held on one person', 'She withdraws', 'Nothing is overwritten', 'She asks to be erased']
const lines = shown.flatMap(title => {
  const step = steps.find(each => each.startsWith(`# ${title}`))
  if (!step) throw new Error(`the tour has no step "${title}"`)
  if (/[^\n]…/.test(step)) throw new Error(`a column is cut: ${step}`)
  // The tour's folder is another one each time.
  const text = step
    .replace(/\/\S+(?=\/receipts\/)/g, '~/.local/state/consentctl')
    .replace(/@127\.0\.0\.1:\d+/g, '@127.0.0.1:8787')
  return [...text.trimEnd().split('\n'), '']
})

const [font, line, margin] = [13, 18, 16]
const width = Math.ceil(Math.max(...lines.map(each => each.length)) * font * 0.602) + 2 * margin
const height = (lines.length - 1) * line + 2 * margin

function row(content, index) {
  const escaped = content.replace(/[&<>]/g, mark => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[mark])
  const tone = content.startsWith('# ')
    ? ' class="note"'
    : content.startsWith('$ ') || lines[index - 1]?.endsWith(' \\')
      ? ' class="typed"'
      : ''
  return `<text x="${margin}" y="${margin + font + index * line}"${tone}>${escaped}</text>`
}

writeFileSync(
  new URL('../.github/pictures/terminal.svg', import.meta.url),
  `<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<title>consentctl in a terminal</title>
<style>
rect { fill: #17191c }
text { font: ${font}px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d7dadd; white-space: pre }
.note { fill: #8fa3b0 }
.typed { fill: #7ed9a0 }
</style>
<rect width="${width}" height="${height}" rx="8"/>
${lines.slice(0, -1).map(row).join('\n')}
</svg>
`,
)
