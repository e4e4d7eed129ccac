import type { IncomingMessage } from 'node:http'

/** Joins repeated values with a line break. */
export function readHeader(request: IncomingMessage, name: string): string | undefined {
  const { rawHeaders } = request
  let found: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (!isName(rawHeaders[index], name)) continue
    const value = rawHeaders[index + 1] ?? ''
    found = found === undefined ? value : `${found}\n${value}`
  }
  return found
}

export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) if (isName(rawHeaders[index], name)) count += 1
  return count
}

function isName(text: string | undefined, name: string): boolean {
  return text?.length === name.length && text.toLowerCase() === name
}
