import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { readSigningKey } from '../../../src/evidence/keys.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { appendReceipt } from '../../../src/subject/receipts.ts'
import { useCli, uuid } from '../support.ts'
import { holds, maria, place } from './instance.ts'

const cli = useCli()
let at: ReturnType<typeof place>
beforeEach(() => {
  at = place(cli)
})

/** So many receipts in a chain. */
async function chain(length: number) {
  for (let number = 1; number <= length; number += 1) {
    holds(cli, 2)
    expect(await at.run('erase', maria, '--yes', '--ticket', `T-${number}`)).toMatchObject({ code: 0 })
  }
}

const failed = async (wanted: string) => {
  const { code, stdout } = await at.run('verify', wanted, '-o', 'json')
  const rows = JSON.parse(stdout) as { check: string; result: string; detail: string }[]
  const details = rows.filter(row => row.result === 'fail').map(({ check, detail }) => `${check}: ${detail}`)
  return { code, failed: details }
}

describe('a receipt that is not as its schema says', () => {
  it('is never put into the chain', async () => {
    await chain(1)
    const { signature: _, ...first } = JSON.parse(readFileSync(at.receipt(1), 'utf8'))
    const key = readSigningKey(readFileSync(join(at.config, 'receipt-keys', 'default.pem'), 'utf8'))
    const append = (more: object) =>
      appendReceipt(dirname(at.receipt(1)), uuid(7), (number, previous) =>
        signDocument({ ...first, job: uuid(7), number, previous, ...more }, key),
      )
    const counts = { deleted: -1, already_gone: 0, deleted_in_bulk: 0 }
    await expect(append({ counts })).rejects.toMatchObject({
      exit: 5,
      message: expect.stringContaining('counts.deleted'),
    })
    expect(at.receipts()).toEqual(['000001.json'])
    expect(await failed('last')).toEqual({ code: 0, failed: [] })
  })

  it('is told by the list, which goes on, and keeps resume from making another', async () => {
    await chain(3)
    const { job } = JSON.parse(readFileSync(at.receipt(2), 'utf8'))
    writeFileSync(at.receipt(2), 'no receipt')
    const listed = await at.run('receipts', '-o', 'id')
    expect(listed).toMatchObject({ code: 8, stdout: '3\n1\n' })
    expect(listed.stderr).toContain('000002.json')
    expect(await at.run('resume', job)).toMatchObject({ code: 5, stderr: expect.stringContaining('000002') })
    expect(at.receipts()).toHaveLength(3)
  })
})
