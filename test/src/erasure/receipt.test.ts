import { expect, it } from 'vitest'
import type { PersonState } from '../../../src/erasure/job.ts'
import { findMadeReceipt, type StoredReceipt } from '../../../src/erasure/receipts.ts'
import type { ReceiptKey } from '../../../src/receipts/signer.ts'

it.each([
  ['when another person has the same ticket and no records either, finds no receipt', 'k', 'other', false],
  ['finds the receipt of the person', 'k', 'maria', true],
  ['when the signing key was replaced, finds the receipt by ticket and records', 'other', 'maria', true],
])('a resumed erasure › %s', (_, id, subject, isFound) => {
  const receipt = { ticket: 'DSR-7', records: [], subjects: null, subject_hmacs: ['h-maria'], key_id: 'k' }
  const key = { id, hmacOf: (each: string) => `h-${each}` } as unknown as ReceiptKey
  const made = [{ receipt } as unknown as StoredReceipt]
  const state = { order: { ticket: 'DSR-7', subjects: [subject] }, targets: new Map() } as unknown as PersonState
  expect(findMadeReceipt({ made, key }, state)).toBe(isFound ? made[0] : null)
})
