/** JSON with dates and bytes. */
export function encode(value: unknown): string {
  return JSON.stringify(value, function (this: Record<string, unknown>, name, plain) {
    const original = this[name]
    if (original instanceof Date) return { $at: original.getTime() }
    return Buffer.isBuffer(original) ? { $hex: original.toString('hex') } : plain
  })
}

export function decode(text: string): unknown {
  return JSON.parse(text, (_name, value) => {
    if (value?.$at !== undefined) return new Date(value.$at)
    return value?.$hex === undefined ? value : Buffer.from(value.$hex, 'hex')
  })
}
