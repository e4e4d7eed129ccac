/** Whether a header `Prefer` asks for a minimal answer (RFC 7240 section 4.2). Of a preference given twice the first counts. */
export function prefersMinimal(header: string | undefined): boolean {
  const [first] = (header ?? '').split(/[,\n]/).filter(one => /^\s*return\s*=/i.test(one))
  return first !== undefined && /=\s*(?:minimal|"minimal")\s*(?:;.*)?$/i.test(first)
}
