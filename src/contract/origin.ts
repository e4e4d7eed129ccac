export interface OriginFacts {
  readonly system: string
  readonly imported_at: string
  /** Their SHA-256. */
  readonly files: readonly string[]
}

/** Returns the sentence of a receipt on an imported record. The system is quoted as JSON, so that its text ends with its quotes. */
export function describeOrigin({ system, imported_at, files }: OriginFacts): string {
  return `as told by ${JSON.stringify(system)}, imported on ${imported_at}, file SHA-256 ${files.join(', ')}`
}
