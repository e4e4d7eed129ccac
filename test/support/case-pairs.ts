/** Every character but surrogates. */
export function characters(): string[] {
  const all: string[] = []
  for (let code = 0; code < 0x11_0000; code += 1)
    if (code < 0xd800 || code > 0xdfff) all.push(String.fromCodePoint(code))
  return all
}

/**
 * The characters of which one is the other in upper or lower case. ECMAScript has the full mappings; those of one character
 * are the simple ones, and but for one all simple pairs are among them.
 */
export function casePairs(): (readonly [string, string])[] {
  const pairs = new Map<string, readonly [string, string]>([['\u0130i', ['\u0130', 'i']]])
  for (const each of characters())
    for (const other of [each.toLowerCase(), each.toUpperCase()])
      if (other !== each && [...other].length === 1) pairs.set([each, other].sort().join(''), [each, other])
  return [...pairs.values()]
}
