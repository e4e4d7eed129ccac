export interface OriginFacts {
  readonly system: string
  readonly imported_at: string
  readonly files: readonly string[]
}

/** The system is quoted as JSON, so that it cannot end the quotes. */
export function describeOrigin({ system, imported_at, files }: OriginFacts): string {
  return `as told by ${JSON.stringify(system)}, imported on ${imported_at}, file SHA-256 ${files.join(', ')}`
}
