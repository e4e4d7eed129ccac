import { createPublicKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { ImportReceipt } from '../../../../../src/contract/documents/import-receipt.ts'
import { verifyDocument } from '../../../../../src/evidence/document.ts'
import { trustKeys } from '../../../../../src/evidence/key-chain.ts'
import { signingKeyOf } from '../../../../../src/evidence/keys.ts'
import { signDocument } from '../../../../../src/evidence/signed.ts'
import { examples } from '../../../evidence/examples.ts'

const key = signingKeyOf(Buffer.alloc(32, 2))
const { signature: _, ...example } = JSON.parse(examples['import receipt'] ?? '') as ImportReceipt & {
  signature: string
}

async function judged(receipt: ImportReceipt) {
  const byId = trustKeys([{ publicKey: createPublicKey(key), statement: null, revocation: null }])
  const text = Buffer.from(signDocument(receipt, key))
  const { result, detail } = await verifyDocument(text, {
    findKeys: async () => ({
      byId,
      sourceOf: () => 'given',
      none: '',
    }),
  })
  return [result, detail]
}

const { rows, records } = example
const changes: [string, Partial<ImportReceipt>][] = [
  ['rows', { rows: { ...rows, read: rows.read + 1 } }],
  ['left_out', { left_out: [] }],
  ['refused_rows', { refused_rows: [{ reason: 'time', rows: 1 }] }],
  ['records', { records: { ...records, made: records.made + 1 } }],
  ['records.made_unanswered', { records: { ...records, made_unanswered: records.made + 1 } }],
  ['refused_records', { refused_records: [] }],
]

describe('verify with an import receipt', () => {
  it('accepts numbers that add up', async () => {
    expect(await judged(example)).toEqual(['valid', 'the key is given'])
  })

  it.each(changes)('rejects signed numbers that do not add up: %s', async (name, change) => {
    expect(await judged({ ...example, ...change })).toEqual([
      'not_valid',
      expect.stringContaining(`is signed, but not as its type says (${name}: `),
    ])
  })
})
