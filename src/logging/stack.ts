/**
 * Where an error came from and what caused it, for --debug. Names, codes and places only: a message may hold a piece of
 * an answer or of a file.
 */
export function stackLines(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > 5) return []
  const { name, stack = '', cause } = error
  const { code } = error as { code?: unknown }
  const places = stack.split('\n').filter(line => /^\s+at /.test(line))
  const title = `${depth === 0 ? '* thrown' : '* caused by'}: ${name}${typeof code === 'string' ? ` (${code})` : ''}`
  return [title, ...places, ...stackLines(cause, depth + 1)]
}
