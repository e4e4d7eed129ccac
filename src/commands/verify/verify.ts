import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import * as z from 'zod'
import { action, collect, nonEmpty } from '../../cli/action.ts'
import { isInterrupted } from '../../cli/ids.ts'
import { many } from '../../cli/output.ts'
import { ApiError } from '../../client/errors.ts'
import type { Context } from '../../context.ts'
import type { ConsentReceipt } from '../../contract/documents/consent-receipt.ts'
import { receipt } from '../../contract/receipt.ts'
import { CliError, dataError, type Exit, exit, usageError } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { report } from '../../errors/report.ts'
import { type FindKeys, type Newest, type Sources, verifyDocument } from '../../evidence/document.ts'
import { listFile } from '../../evidence/pack.ts'
import { splitDocuments } from '../../evidence/signed.ts'
import type { Present } from '../../evidence/since.ts'
import { NotValid, type Verdict } from '../../evidence/verdict.ts'
import { readBytes, unreadable } from '../../io/input.ts'
import { type VerdictRow, verdictView } from '../../views/verification.ts'
import { instanceKeys, readKeySets, readPems } from './keys.ts'
import { readNewest } from './log.ts'

const Options = z.strictObject({
  operands: z.array(nonEmpty),
  keys: z.array(nonEmpty).default([]),
  publicKey: z.array(nonEmpty).default([]),
  live: z.literal(true).optional(),
  list: nonEmpty.optional(),
})

/** Larger than any signed document. */
const maxMiB = 64

export function verify(command: Command, ctx: Context): void {
  command
    .argument('<file...>', 'signed documents, or folders or .tar files of "evidence"; - is stdin')
    .option('--keys <file>', 'verify with the keys in this JWK set, as a service publishes it', collect)
    .option('--public-key <file>', 'verify with this public key in PEM', collect)
    .option('--live', 'verify with the instance’s current keys and log, and ask what changed since')
    .option('--list <file>', 'verify that a gate receipt allows this list, and has not expired')
    .description(`
Recognizes every kind of signed document. Without these options, documents of a service are verified with the keys
that the configured instance publishes at /.well-known/consent-keys.json, and documents of a profile with the key of
that profile, or else with the one that the instance knows from the records that it keeps. With both --keys and --public-key, --keys is for the service and --public-key for the profile. Exits
with 0 if all are valid, 5 if one is not, else the code for a file that cannot be read. With the manifest of an
export, the export beside it is verified too.

In the evidence of a record, every file is verified offline with the keys inside; --keys, --public-key or --live
replaces them. A file can contain several documents, as written by "consentctl admin checkpoint --file": FILE#2 is
the second.

A valid signature proves that the holder of the key signed exactly these bytes. Keys from the same place as the
document prove little, because anyone who can forge one can forge the other: fetch keys early, keep them apart, and
compare key ids with the operator of the service.

The times of consent receipts and of evidence have two bounds: "not in the log at A, in it at B". A document dated
more than ten minutes before A is not valid. --live also requires an API key of the account: the log must prove that
it has only grown since the checkpoint in the file, and of a consent receipt the instance is asked whether its record
changed since, and for newer answers about its purposes, of the same identifier on the site.

Examples:
  $ consentctl verify receipt.json --keys consent-keys.json
  $ consentctl receipt 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 | consentctl verify - -o json
  $ consentctl verify case --keys consent-keys.json
  $ consentctl verify gate.json --list allowed.csv`)
    .action(
      action(ctx, Options, verdictView, async (_, { operands, keys, publicKey, live, list: file }) => {
        const list = file === undefined ? undefined : { file, sha256: await requireHash(file) }
        const sources = { ...(await openKeys(ctx, { sets: keys, single: publicKey, live: live === true })), list }
        const only = operands.length === 1 ? await open(ctx, operands[0] ?? '', sources) : null
        const unproved: string[] = []
        let areValid = true
        let unread: Exit = exit.done
        const skip = async (error: unknown, file: string) => {
          if (only || isInterrupted(exitOf(error))) throw error
          await report(ctx, error, file)
          unread ||= exitOf(error)
        }
        async function* pagesOf(file: string) {
          const source = only ?? (await open(ctx, file, sources))
          if (source.hasOwnKeys) unproved.push(file)
          yield* source.pages()
        }
        async function* pages(): AsyncGenerator<readonly VerdictRow[]> {
          for (const file of operands) {
            try {
              for await (const page of pagesOf(file)) {
                areValid &&= page.every(({ result }) => result !== 'not_valid')
                yield page
              }
            } catch (error) {
              await skip(error, file)
            }
          }
        }
        return many(verdictView, pages(), {
          single: only?.isSingle ?? false,
          exit: () => (areValid ? unread : exit.rejected),
          footer: async () => {
            for (const path of unproved) await ctx.warn(describeInside(path))
          },
        })
      }),
    )
}

interface KeySources extends Sources {
  /** Packs are verified with the keys inside. */
  readonly isInside: boolean
}

/** Only keys named by flags replace those in a pack. */
async function openKeys(
  ctx: Context,
  {
    sets,
    single,
    live,
  }: { readonly sets: readonly string[]; readonly single: readonly string[]; readonly live: boolean },
): Promise<KeySources> {
  const isOffline = sets.length + single.length > 0
  if (isOffline && live) throw usageError('--live cannot be combined with --keys or --public-key')
  const fromSets = sets.length > 0 ? await readKeySets(ctx, sets) : undefined
  const fromPems = single.length > 0 ? await readPems(ctx, single) : undefined
  const published = instanceKeys(ctx)
  let log: Promise<Newest> | undefined
  const newest = live ? () => (log ??= readNewest(ctx, published, 'verify without --live')) : undefined
  const findPresent = live ? (id: string) => readPresent(ctx, id, published) : undefined
  const findKeys = isOffline ? byRole(fromSets, fromPems) : published
  return { findKeys, newest, findPresent, isInside: !isOffline && !live }
}

/** @throws NotValid if the instance signs a receipt now that is not valid */
async function readPresent(ctx: Context, id: string, findKeys: FindKeys): Promise<Present> {
  let text: string
  try {
    text = await ctx.api.text(receipt, { params: { id } })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 404) return { problem: 'shows this key no live record of its id' }
    if (error.status !== 409 && error.status !== 500) throw error
    return { problem: `signs no receipt of its record now: ${error.message}` }
  }
  const { result, type, detail } = await verifyDocument(Buffer.from(text), { findKeys })
  if (result !== 'valid' || type !== 'consent_receipt')
    throw new NotValid(`is valid, but what the instance returns as its present receipt is not: ${detail}`)
  return JSON.parse(text) as ConsentReceipt
}

/** A service key proves no document of a profile, and vice versa; a PEM does not state its owner. */
function byRole(fromSets: FindKeys | undefined, fromPems: FindKeys | undefined): FindKeys {
  const none: FindKeys = async () => ({
    byId: new Map(),
    sourceOf: () => '',
    none: 'none of those given with --public-key, as a document of a profile needs',
  })
  return signer => (signer === 'service' ? (fromSets ?? fromPems ?? none) : (fromPems ?? none))(signer)
}

function describeInside(path: string): string {
  return `the keys are those in ${path} itself, and anyone can make one with keys of their own: only --keys, with keys from elsewhere, shows who signed`
}

interface Source {
  readonly isSingle: boolean
  readonly hasOwnKeys: boolean
  pages(): AsyncGenerator<readonly VerdictRow[]>
}

async function open(ctx: Context, path: string, { isInside, ...sources }: KeySources): Promise<Source> {
  const { isPackPath, readPacks } = await import('./pack-files.ts')
  if (await isPackPath(path)) {
    const packs = await readPacks(path)
    const { verifyPack } = await import('../../evidence/pack-checks.ts')
    return {
      isSingle: false,
      hasOwnKeys: isInside,
      pages: async function* () {
        for (const [folder, files] of packs) {
          const rows = await verifyPack(files, isInside ? {} : sources)
          yield rows.map(row => ({ ...row, file: `${folder}/${row.file}` }))
        }
      },
    }
  }
  const texts = readDocuments(await readBytes(ctx.io, path, maxMiB).catch(error => explainUnread(path, error)))
  return {
    isSingle: texts.length === 1,
    hasOwnKeys: false,
    pages: async function* () {
      const all = { ...sources, compareExport: (sha256: string) => compareExport(path, sha256) }
      for (const [index, bytes] of texts.entries()) {
        const verdict = await verifyDocument(bytes, all)
        const file = texts.length === 1 ? path : `${path}#${index + 1}`
        yield [{ file, ...verdict, detail: verdict.detail + describeOther(path, verdict) }]
      }
    },
  }
}

function explainUnread(path: string, error: unknown): never {
  const signed = error instanceof CliError && error.code === 'invalid_data' ? findSignedInstead(path) : null
  throw signed === null ? error : dataError((error as CliError).message, `consentctl verify ${signed}`)
}

/** For an unsigned file, or in addition to the list of a pack. */
function describeOther(path: string, { type, result }: Verdict): string {
  if (type === 'evidence_pack' && result === 'valid') return '; its files are not compared: verify the folder'
  const signed = type === null ? findSignedInstead(path) : null
  return signed === null ? '' : `; verify ${signed} instead`
}

/** Splits concatenated documents; other files stay whole. */
function readDocuments(bytes: Buffer): Buffer[] {
  const texts = splitDocuments(bytes.toString('latin1'))
  const areDocuments = texts.length > 1 && texts.every(text => text.startsWith('{'))
  return areDocuments ? texts.map(text => Buffer.from(text, 'latin1')) : [bytes]
}

const manifestSuffix = '.manifest.json'

/** Returns a suffix for the detail. */
export async function compareExport(manifest: string, sha256: string): Promise<string> {
  const file = manifest.endsWith(manifestSuffix) ? manifest.slice(0, -manifestSuffix.length) : null
  const actual = file && (await hashFile(file))
  if (!actual) return `; its export is not beside it: its SHA-256 must be ${sha256}`
  if (actual === sha256) return `; ${file} is the export that it is for`
  throw new NotValid(`is valid, but ${file} is not the export that it is for: that was changed`)
}

/** @throws CliError (usage) if it cannot be read */
async function requireHash(file: string): Promise<string> {
  const sha256 = await hashFile(file).catch(error => {
    throw unreadable(file, error)
  })
  if (sha256 === null) throw usageError(`no such file: ${file}`)
  return sha256
}

async function hashFile(file: string): Promise<string | null> {
  const hash = createHash('sha256')
  try {
    await pipeline(createReadStream(file), hash)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  return hash.digest('hex')
}

/** The signed counterpart of a file: an export's manifest, or the folder of an evidence pack. */
function findSignedInstead(file: string): string | null {
  if (file === '-' || basename(file) === listFile) return null
  if (existsSync(file + manifestSuffix)) return file + manifestSuffix
  return existsSync(join(dirname(file), listFile)) ? dirname(file) : null
}
