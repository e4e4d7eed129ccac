import fc from 'fast-check'
import type { AuditEntry } from '../../../src/contract/index.ts'
import { type Action, type Actor, type Facts, system } from '../../../src/evidence/chain.ts'
import { circumstancesOf, historyWith, id, importedFacts } from './chains.ts'

const unit = fc.constantFrom('a', 'B', '0', '"', '\\', '\u0000', '\u007f', '\u2028', 'é', '\ufb33', '😀')
const text = fc.string({ unit, maxLength: 4 })
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.double({ min: 0, max: 1e-5, noNaN: true }),
)
const { value } = fc.letrec(tie => ({
  value: fc.oneof({ maxDepth: 3 }, text, number, fc.boolean(), fc.constant(null), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 3 }),
  object: fc.array(fc.tuple(text, tie('value')), { maxLength: 4 }).map(Object.fromEntries),
}))
export const preferences = fc.array(fc.tuple(text, value), { maxLength: 4 }).map(pairs => Object.fromEntries(pairs))
export type Below = (count: number) => number

/** A history, some imported, deleted, restored, or purged in whole or in part. */
export function newHistory(below: Below, states: readonly Record<string, unknown>[]): AuditEntry[] {
  const end: Action[][] = [
    [],
    ['deleted'],
    ['deleted', 'purged'],
    ['deleted', 'deleted', 'purged'],
    ['deleted', 'purged', 'purged'],
  ]
  const restores: Action[][] = [
    ['deleted', 'restored'],
    ['deleted', 'restored_despite_erasure'],
  ]
  const changes = Array.from({ length: below(6) }, () => restores[below(6)] ?? ['updated' as Action]).flat()
  const beginning =
    below(3) === 0 ? Array.from({ length: 1 + below(3) }, (): Action => 'imported') : ['created' as Action]
  const actions: Action[] = [...beginning, ...changes, ...(end[below(5)] ?? [])]
  const drawn = actions.map(() => below(states.length))
  const kinds: Actor[] = [system, { kind: 'user', id: '01939d2c-0000-7000-8000-00000000000c' }, { kind: 'api_key', id }]
  const actors = actions.map(() => kinds[below(3)] ?? system)
  const answers: Action[] = ['created', 'updated']
  const facts = actions.map((action, index): Facts | undefined => {
    const told = below(4) === 0 && { circumstances: circumstancesOf(below(2)) }
    if (action === 'imported') return { ...importedFacts(index), ...told }
    if (action === 'deleted') return isErasure(actions, index, below) ? { erased: true } : undefined
    return answers.includes(action) ? { ...(below(4) === 0 && { gpc: true }), ...told } : undefined
  })
  const withProof = [undefined, true, false][below(3)]
  const make = (list: readonly Action[]) =>
    historyWith(
      list,
      index => states[drawn[index] ?? 0] ?? {},
      index => actors[index] ?? system,
      index => facts[index],
      undefined,
      withProof,
    )
  const entries = make(actions)
  if (actions.at(-1) !== 'purged' || actions.at(-2) === 'purged') return entries
  const kept = 1 + below(entries.length - 1) // a purge empties the oldest entries first
  return entries.map((entry, index) =>
    index >= kept && index < entries.length - 1 ? { ...(make(actions.slice(0, -1))[index] as AuditEntry) } : entry,
  )
}

/** A second deletion is of an erasure request, and so is one that only a restore despite it follows. */
function isErasure(actions: readonly Action[], index: number, below: Below): boolean {
  const next = actions[index + 1]
  if (actions[index - 1] === 'deleted' || next === 'restored_despite_erasure') return true
  return next !== 'deleted' && next !== 'restored' && below(2) === 0
}
