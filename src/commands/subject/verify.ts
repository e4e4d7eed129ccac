import type { KeyObject } from 'node:crypto'
import type { Command } from 'commander'
import * as z from 'zod'
import { action, collect, nonEmpty } from '../../cli/action.ts'
import { type Checked, checksOutput, fail, ok, skip, tried } from '../../cli/checks.ts'
import { formatCount, subjectCommand } from '../../cli/messages.ts'
import type { Output } from '../../cli/output.ts'
import { Subject } from '../../cli/subjects.ts'
import type { Context } from '../../context.ts'
import type { ErasureReceipt } from '../../contract/documents/erasure-receipt.ts'
import type { WithdrawalReceipt } from '../../contract/documents/withdrawal-receipt.ts'
import { subjects } from '../../contract/subjects.ts'
import { findCertificateFault, findPurged } from '../../erasure/certificates.ts'
import { newMatcher } from '../../erasure/hmacs.ts'
import { type AnyReceipt, findAnywhere, findKnownKey, type KnownKey } from '../../erasure/kept.ts'
import {
  findChainFault,
  findReceiptOrFile,
  findReceiptsOfJob,
  isErasure,
  isPurge,
  isSigned,
  isWithdrawal,
  loadReceipt,
  numbersOf,
  type StoredReceipt,
} from '../../erasure/receipts.ts'
import {
  askForPurged,
  findLive,
  findStates,
  findSubjectHmac,
  liveRecords,
  type RecordState,
} from '../../erasure/records.ts'
import { describeLive, describePurged } from '../../erasure/sentences.ts'
import { findGranting } from '../../erasure/withdrawal.ts'
import { describeGiven } from '../../erasure/withdrawal-page.ts'
import { exit, usageError } from '../../errors/errors.ts'
import { findContradiction } from '../../evidence/contradictions.ts'
import { turnOff } from '../../evidence/state.ts'
import { readText } from '../../io/input.ts'
import { openOutFile } from '../../io/new-file.ts'
import {
  findReceiptKey,
  type IdentifiedKey,
  identify,
  ownKeys,
  type ReceiptKey,
  requireEverySite,
  requireSameInstance,
} from '../../receipts/signer.ts'
import { listNumbers, locateReceipts, type ReceiptStore, readHead, receiptPath } from '../../receipts/store.ts'
import { checkView } from '../../views/program.ts'
import { readPem, requirePublishedKeys } from '../verify/keys.ts'

const Options = z.strictObject({
  operands: z.tuple([nonEmpty]),
  live: z.literal(true).optional(),
  purged: z.literal(true).optional(),
  certificateOut: nonEmpty.optional(),
  subject: Subject.optional(),
  publicKey: z.array(nonEmpty).optional(),
})
type Options = z.output<typeof Options>

export function verify(command: Command, ctx: Context): void {
  command
    .argument('<receipt>', 'a file, or the number, job, ticket or SHA-256 of a receipt, or last')
    .option('--live', 'check that the instance shows each of its records as deleted, or without the purpose')
    .option('--purged', 'request a certificate that the personal data of its records is purged')
    .option('--certificate-out <file>', 'write the certificate to a new file')
    .option('--subject <id>', 'check that it is about this data subject; with --live, that no live record is left')
    .option('--public-key <file>', 'the signing key, in PEM; by default the profile’s own', collect)
    .description(`
Checks the form of the receipt, its signature, and the chain: every receipt of the profile, later ones too. The
receipt of a colleague is found by ticket or SHA-256 if the service keeps it, and its signature is checked with the key
that the service knows; the service does not say who holds that key, and the chain is on the colleague's machine. Exits
with 5 if something is invalid. Exits with 10 if all is valid but the service contradicts the receipt, does not show a
record to the key (it may belong to another account), or has not purged one that --purged expects. A receipt
is matched to a person by the HMACs of the account, which the service tells, or those of the profile's private key. Purged records are pseudonymous, not
anonymous.

Examples:
  $ consentctl subject verify last --live --subject maria@example.com
  $ consentctl subject verify last --purged --certificate-out purged.json
  $ consentctl subject verify 0f3ab2c4d5e6
  $ consentctl subject verify receipt.json --public-key receipts.pem`)
    .action(action(ctx, Options, checkView, async (_, options) => await runChecks(ctx, options)))
}

async function runChecks(
  ctx: Context,
  { operands: [wanted], live, purged, certificateOut, subject, publicKey }: Options,
): Promise<Output<unknown>> {
  if (certificateOut !== undefined && !purged) throw usageError('--certificate-out requires --purged')
  const store = locateReceipts(ctx)
  const key = await findReceiptKey(store)
  const keys = publicKey ? await readKeys(ctx, publicKey) : await ownKeys(store)
  let stored: AnyReceipt | undefined
  const form = await tried('form', async () => {
    stored = await findAnywhere(ctx, store, wanted, findReceiptOrFile)
    const { number, ticket, job } = stored.receipt
    const noun = isWithdrawal(stored) ? 'withdrawal' : 'erasure'
    const what = isPurge(stored) ? `receipt ${number} of a purge,` : `${noun} receipt ${number}`
    const contradiction = findContradiction(stored.receipt)
    if (contradiction !== null) return fail('form', exit.rejected, `it contradicts ${contradiction}`, null)
    return ok('form', `${what} for ${ticket}, job ${job}`)
  })
  if (!stored) return checksOutput(ctx, [form]) as Output<unknown>
  const found = stored
  const chain = await tried('chain', () => checkChain(store, found, keys, key))
  const known =
    publicKey || isSigned(found, keys) !== null
      ? null
      : (found.known ?? (await findKnownKey(ctx, found.receipt.key_id)))
  const checks = [form, checkSignature(found, known ? [known.key] : keys, known), chain]
  const about = subject === undefined ? null : await newMatcher(ctx.api, key).isAbout(found.receipt, subject)
  if (subject !== undefined) checks.push(checkSubject(about))
  let identity: Promise<IdentifiedKey> | undefined
  // The records of another person say nothing about this receipt.
  const scope = { subject: about === false ? undefined : subject, identify: () => (identity ??= identify(ctx.api)) }
  const asked = { live, purged, certificateOut }
  if (isErasure(found)) checks.push(...(await checkErasure(ctx, found.receipt, scope, asked)))
  else if (isWithdrawal(found)) checks.push(...(await checkWithdrawal(ctx, found.receipt, scope, asked)))
  const output = checksOutput(ctx, checks) as Output<unknown>
  const footer = async () => {
    await tellOthers(ctx, store, found)
    if (!live || purged || !isErasure(found) || found.receipt.records.length === 0) return
    const command = subjectCommand(ctx, 'verify', wanted, '--purged')
    await ctx.say(`to see if their personal data is purged: ${command}`)
  }
  return { ...output, footer }
}

type Asked = Pick<Options, 'live' | 'purged' | 'certificateOut'>

async function checkErasure(
  ctx: Context,
  receipt: ErasureReceipt,
  scope: LiveScope,
  { live, purged, certificateOut }: Asked,
): Promise<Checked[]> {
  const checks: Checked[] = []
  if (live && receipt.certificates.length > 0)
    checks.push(await tried('certificates', () => checkCertificates(ctx, receipt, scope)))
  if (live) checks.push(await tried('live', () => checkLive(ctx, receipt, scope)))
  if (purged) checks.push(await tried('purged', () => checkPurged(ctx, receipt, certificateOut)))
  return checks
}

async function checkWithdrawal(
  ctx: Context,
  receipt: WithdrawalReceipt,
  scope: LiveScope,
  { live, purged }: Asked,
): Promise<Checked[]> {
  const given = live ? [await tried('live', () => checkGiven(ctx, receipt, scope))] : []
  return [...given, ...(purged ? [skip('purged', 'a withdrawal deletes no record')] : [])]
}

/** A file of several people has a receipt for each person. */
async function tellOthers(ctx: Context, store: ReceiptStore, { receipt }: StoredReceipt): Promise<void> {
  const others = await findReceiptsOfJob(store, receipt.job).catch(() => [])
  const left = others.filter(each => each.receipt.number !== receipt.number)
  if (left.length > 0)
    await ctx.warn(`only receipt ${receipt.number} was checked; its job also made ${numbersOf(left)}`)
}

async function readKeys({ io }: Context, files: readonly string[]): Promise<KeyObject[]> {
  return await Promise.all(files.map(async file => readPem(await readText(io, file), file)))
}

function checkSignature(stored: StoredReceipt, keys: readonly KeyObject[], known: KnownKey | null): Checked {
  const signed = isSigned(stored, keys)
  const { key_id, profile, who, host } = stored.receipt
  const remedy = 'give the public key of its signer with --public-key'
  if (signed === null) return fail('signature', exit.rejected, `it names another key, ${key_id}`, remedy)
  const whose = known
    ? `, which the service knows since ${known.since}; the receipt names ${who}@${host}, profile ${profile}`
    : ''
  if (signed) return ok('signature', `valid, by the key ${key_id}${whose}`)
  return fail('signature', exit.rejected, 'invalid: the receipt was changed after it was signed', null)
}

/** Skips a receipt from another machine, which has its own chain. */
async function checkChain(
  store: ReceiptStore,
  stored: StoredReceipt,
  keys: readonly KeyObject[],
  own: ReceiptKey | null,
): Promise<Checked> {
  const { number, key_id } = stored.receipt
  const isHere = (await loadReceipt(receiptPath(store, number)).catch(() => null))?.bytes.equals(stored.bytes)
  if (!isHere && own?.id !== key_id)
    return skip('chain', `made elsewhere: its chain is not that of the profile ${store.profile}`)
  const head = await readHead(store) // first: receipts may be added meanwhile
  const fault = await findChainFault(store, stored, own ? [...keys, own.key] : keys, head)
  if (fault !== null) return fail('chain', exit.rejected, fault, `check ${store.folder} and its backups`)
  const count = (await listNumbers(store)).length
  return ok('chain', `${formatCount(count, 'receipt')}, each signed and following the one before`)
}

function checkSubject(about: boolean | null): Checked {
  if (about === null) return skip('subject', 'only the private key that signed it, or a key of its account, can tell')
  if (about) return ok('subject', 'the receipt is about this data subject')
  const remedy = 'find their receipt: consentctl subject receipts --subject ID'
  return fail('subject', exit.rejected, 'the receipt is about another data subject', remedy)
}

interface LiveScope {
  readonly subject: string | undefined
  readonly identify: () => Promise<IdentifiedKey>
}

async function checkCertificates(
  ctx: Context,
  receipt: ErasureReceipt,
  { subject, identify }: LiveScope,
): Promise<Checked> {
  requireSameInstance(ctx, receipt.instance, 'receipt')
  const { account_id } = await identify()
  const byId = await requirePublishedKeys(ctx)
  const subjectHmac = await findSubjectHmac(ctx.api, receipt, { subject, account_id })
  const fault = findCertificateFault(receipt, byId, subjectHmac)
  if (fault !== null) return fail('certificates', exit.rejected, fault, null)
  const count = receipt.certificates.length
  const text = `${count} of the service, each signed by a key that it publishes, for the records of this receipt by id`
  return ok('certificates', text)
}

/** Requires that each record is certified as purged, and writes the certificates. */
async function checkPurged(ctx: Context, receipt: ErasureReceipt, path: string | undefined): Promise<Checked> {
  requireSameInstance(ctx, receipt.instance, 'receipt')
  if (receipt.records.length === 0) return skip('purged', 'it lists no records')
  if (!(await ctx.api.supports(subjects.certifyPurge)))
    return fail('purged', exit.changed, 'the instance certifies no purges, so it is not known what is gone', null)
  const file = path === undefined ? null : await openOutFile(path, '--certificate-out')
  try {
    const { fault, ...seen } = await findPurged(askForPurged(ctx.api), receipt, await requirePublishedKeys(ctx))
    if (fault !== null) return fail('purged', exit.rejected, fault, null)
    if (file && seen.certificates.length > 0) {
      await file.write(seen.certificates.join(''))
      await file.commit()
    }
    const { state, text } = describePurged(seen)
    return state === 'purged' ? ok('purged', text) : fail('purged', exit.changed, text, null)
  } finally {
    await file?.abandon(false)
  }
}

/** Requires that each record is shown as deleted, and that `subject` has no live record. */
async function checkLive(ctx: Context, receipt: ErasureReceipt, { subject, identify }: LiveScope): Promise<Checked> {
  requireSameInstance(ctx, receipt.instance, 'receipt')
  const ids = receipt.records.map(({ id }) => id)
  if (ids.length === 0 && subject === undefined)
    return skip('live', 'it lists no records: name the data subject with --subject')
  const { account_id, ...key } = await identify()
  requireEverySite(key)
  const listed = subject === undefined ? [] : (await liveRecords(ctx.api, [subject])).map(({ id }) => id)
  const states = await findStates(ctx.api, ids)
  const inState = (wanted: RecordState) => ids.filter(id => states.get(id) === wanted)
  const { state, text } = describeLive({
    receipt,
    account_id,
    isSubjectListed: subject !== undefined,
    live: [...new Set([...inState('live'), ...listed])],
    deleted: inState('deleted'),
    unknown: inState('unknown'),
  })
  if (state === 'gone') return ok('live', text)
  const again = 'run consentctl subject erase again; after a restored backup with --repeat-since TIME'
  return fail('live', exit.changed, text, state === 'live' ? again : 'use a key of the account of the receipt')
}

/** Requires that no record of the receipt, and with `subject` none of the person, grants a purpose. */
async function checkGiven(
  ctx: Context,
  receipt: WithdrawalReceipt,
  { subject, identify }: LiveScope,
): Promise<Checked> {
  requireSameInstance(ctx, receipt.instance, 'receipt')
  const { purposes, site_id, account_id: ofReceipt } = receipt
  const ids = receipt.records.map(({ id }) => id)
  if (ids.length === 0 && subject === undefined)
    return skip('live', 'it lists no records: name the data subject with --subject')
  const { account_id } = await identify()
  if (ofReceipt !== null && account_id !== null && ofReceipt !== account_id)
    return fail('live', exit.changed, `the key is of the account ${account_id}, and the receipt of ${ofReceipt}`, null)
  const listed = subject === undefined ? [] : (await findGranting(ctx.api, [subject], { purposes, site_id })).granting
  const granting = (await findLive(ctx.api, ids)).filter(({ accepted, preferences }) => {
    return turnOff({ accepted: accepted === true, preferences: preferences ?? {} }, purposes).withdrawn.length > 0
  })
  const given = [...new Set([...granting, ...listed].map(({ id }) => id))]
  const text = describeGiven({ given, records: ids.length, isSubjectListed: subject !== undefined, account_id })
  if (given.length === 0) return ok('live', text)
  return fail('live', exit.changed, text, 'the person may have agreed again: consentctl history shows when')
}
