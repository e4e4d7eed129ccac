import type { ChainEntry } from './entry.ts'
import type { ChainRecord, Finding } from './history.ts'

/** Versions are gapless from 1, each behind the one before. */
export function ofOrder(entries: readonly ChainEntry[]): Finding[] {
  const findings: Finding[] = []
  let expected = 1
  for (const { version } of entries) {
    if (version > expected) {
      const gap = version - expected > 1 ? `${expected} to ${version - 1} are` : `${expected} is`
      findings.push({ version: expected, problem: 'lost', detail: `version ${gap} missing` })
    } else if (version < expected) {
      findings.push({ version, problem: 'reordered', detail: 'stands behind a later version' })
    }
    expected = version + 1
  }
  return findings
}

/**
 * A history begins with the creation, ends with the deletion, and after that there can be the purge alone. The service itself
 * has no id, and all others have: the hash is the same for none and for one of zeros.
 */
export function ofActions({ id }: ChainRecord, entries: readonly ChainEntry[]): Finding[] {
  const findings: Finding[] = []
  for (const [index, { version, action, actor, at }] of entries.entries()) {
    const before = entries[index - 1]
    const isFirst = version === 1
    const may = isFirst ? action === 'created' : followers[before?.action ?? '']?.includes(action)
    const isAfterGap = before ? before.version !== version - 1 : !isFirst
    if (!isAfterGap && !may) {
      findings.push({
        version,
        problem: 'forged',
        detail: `${action} cannot follow ${before?.action ?? 'nothing'}`,
      })
    }
    if ((actor.kind === 'system') !== (actor.id === null)) {
      findings.push({ version, problem: 'changed', detail: 'its actor is of another kind than its id' })
    }
    if (before && at.getTime() < before.at.getTime()) {
      findings.push({ version, problem: 'changed', detail: 'is older than the version before it' })
    }
    if (isFirst && at.getTime() !== millisecondOf(id)) {
      findings.push({ version, problem: 'changed', detail: 'is of another time than the record’s id' })
    }
  }
  return findings
}

const followers: Readonly<Record<string, readonly string[]>> = {
  created: ['updated', 'deleted'],
  updated: ['updated', 'deleted'],
  deleted: ['purged'],
}

/** The time in a UUID version 7 (RFC 9562 section 5.7), in milliseconds. */
function millisecondOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
