import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { runBinary } from '../support/cli.ts'
import { hasVerifier, runVerifier } from '../support/verifier.ts'
import { newOwner } from './owner.ts'
import { useServed } from './served.ts'

const served = useServed('sealed')
const maria = 'maría@example.com'

it('evidence --sealed › proves the answers of a purged person to whom the identifier was shown, and to nobody else', async () => {
  const { account, signedIn, withKey } = await newOwner(served, 'sealed')
  const run = (...args: string[]) => withKey(account.api_key, ...args)
  const flags = ['--seal-proof', '10y', '--basis', 'GDPR Art. 17(3)(e)']
  const updated = await signedIn('sites', 'update', account.site.id, ...flags)
  expect(updated.sealed_proof).toMatchObject({ basis: 'GDPR Art. 17(3)(e)', period: 'P10Y' })

  const { stdout: id } = await run(
    'create',
    '--site',
    account.site.id,
    '--subject',
    maria,
    '--accepted',
    '--pref',
    'news=true',
    '-q',
  )
  await delay(10)
  const given = new Date().toISOString()
  const ask = ['check', maria, '--purpose', 'news', '-o', 'json']
  expect((await run('subject', 'erase', maria, '--ticket', 'DSR-1', '--confirm', '1')).stderr).toContain(
    'personal data to be purged after 30 days, but for sealed proofs',
  )
  const purged = await run('subject', 'purge', 'last', '--yes')
  expect(purged.code, purged.stderr).toBe(0)
  expect((await run('subject', 'verify', 'last', '--purged')).code).toBe(0)
  expect((await run('subject', 'receipts', 'last')).stdout).toContain('but for 1 sealed proof until')

  const answer = await run(...ask, '--at', given)
  expect([answer.code, JSON.parse(answer.stdout)]).toMatchObject([0, { allowed: true, sealed: true }])
  expect(answer.stderr).toContain('from the sealed proof of a purged record')
  expect((await run(...ask)).code).toBe(3)
  expect((await run('check', 'other', '--purpose', 'news', '--at', given)).code).toBe(3)

  const found = await run('subject', 'find', maria)
  expect(found.stderr).toMatch(
    new RegExp(
      `sealed proof of ${id.trim()}: site \\S+, until \\S+, or longer while a legal hold stands; basis: GDPR Art`,
    ),
  )
  expect((await run('subject', 'find', 'other')).stderr).not.toContain('sealed')
  const exported = join(served.folder.path, 'maria.json')
  expect((await run('subject', 'export', maria, '--out', exported)).code).toBe(0)
  expect(JSON.parse(await readFile(exported, 'utf8'))).toMatchObject({
    records: [],
    sealed_proofs: [{ record_id: id.trim(), site_id: account.site.id, answers: [{ preferences: { news: true } }] }],
  })
  const again = await run('subject', 'erase', maria, '--ticket', 'DSR-2', '--yes')
  expect(again.stderr).toMatch(/no record listed on .*; kept of records purged before: 1 sealed proof until/)
  const receipt = join(served.folder.path, 'again.json')
  const { stdout: signed } = await run('subject', 'receipts', 'last')
  await writeFile(receipt, signed)
  expect(JSON.parse(signed)).toMatchObject({
    result: 'proofs_kept',
    verification: { sealed_proofs: [{ site_id: account.site.id, basis: 'GDPR Art. 17(3)(e)', proofs: 1 }] },
  })
  expect((await run('subject', 'verify', 'last', '--live')).code).toBe(0)
  const key = join(served.folder.path, 'profile key')
  await writeFile(key, (await run('subject', 'keys', 'show')).stdout)
  expect((await run('verify', receipt, '--public-key', key)).code).toBe(0)
  if (hasVerifier) expect(runVerifier(['--profile-key', key, receipt]).status).toBe(0)
  expect((await run('subject', 'receipts', 'last', '--format', 'md')).stdout).toContain('## Sealed proofs')
  const other = await run('subject', 'erase', 'other', '--ticket', 'DSR-3', '--yes')
  expect(other.stderr).toContain('no data held')

  const out = join(served.folder.path, 'claim')
  const nobody = await run('evidence', '--sealed', '--subject', 'maria@example.com', '--out', out)
  expect(nobody).toMatchObject({ code: 3, stderr: expect.stringContaining('no sealed proof') })
  const packed = await run('evidence', '--sealed', '--subject', maria, '--out', out)
  expect(packed.code, packed.stderr).toBe(0)
  const pack = join(out, id.trim())
  const verified = await run('verify', pack)
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining('is the one of the sealed proof')])
  if (hasVerifier) expect(runVerifier([pack]).lines).toEqual([`${pack}: evidence pack is valid`])
  expect((await runBinary(['admin', 'verify'], { env: served.service })).code).toBe(0)
})
