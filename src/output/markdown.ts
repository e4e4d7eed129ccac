import { visible } from './safe.ts'

export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(markdownText).join(' | ')} |`
  return [line(header), `|${header.map(() => '---|').join('')}`, ...rows.map(line)].join('\n')
}

/** Undoes `markdownText` for terminals. */
export function withoutEntities(page: string): string {
  const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>' }
  return page.replace(/&(?:#(\d+)|(amp|lt|gt));/g, (_, code, name) => named[name] ?? String.fromCharCode(Number(code)))
}

export function markdownText(text: string): string {
  return visible(text)
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/[\\`*_[\]#|~@]/g, mark => `&#${mark.charCodeAt(0)};`)
    .replace(/:\/\//g, '&#58;//')
    .replace(/^(\d+)\.|^-/g, first => first.replace(/[.-]/, mark => `&#${mark.charCodeAt(0)};`))
    .replace(/www\./gi, found => found.replace('.', '&#46;'))
}
