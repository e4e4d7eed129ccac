import type { Client } from '../client/client.ts'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { documents, subjectHmacsLimit } from '../contract/subject-documents.ts'
import { explain } from '../errors/explain.ts'
import type { ReceiptKey } from '../receipts/signer.ts'

interface AccountHmacs {
  readonly account_id: string
  readonly subject_hmacs: readonly string[]
}

/** Those of the account, in the order of the subjects; null if the service does not tell them to this key. */
export async function findAccountHmacs(
  api: Pick<Client, 'supports' | 'call'>,
  subjects: readonly string[],
): Promise<AccountHmacs | null> {
  if (!(await api.supports(documents.hmacs))) return null
  let account_id = ''
  const all: string[] = []
  try {
    for (let start = 0; start < subjects.length; start += subjectHmacsLimit) {
      const body = { subject_ids: subjects.slice(start, start + subjectHmacsLimit) }
      const answer = await api.call(documents.hmacs, { body })
      account_id = answer.account_id
      all.push(...answer.subject_hmacs)
    }
  } catch (error) {
    if (explain(error).code === 'forbidden') return null
    throw error
  }
  return { account_id, subject_hmacs: all }
}

type Hashed = Pick<ErasureReceipt, 'subjects' | 'subject_hmacs' | 'hmac_key' | 'account_id' | 'key_id'>

/** Tells whom documents are about. */
export interface SubjectMatcher {
  /** Null if only another private key, or a key of another account, could tell. */
  isAbout(receipt: Hashed, subject: string): Promise<boolean | null>
}

/** Asks the service for the HMACs of an account at most once a subject; without `api` it asks nobody. */
export function newMatcher(api: Pick<Client, 'supports' | 'call'> | null, key: ReceiptKey | null): SubjectMatcher {
  const known = new Map<string, Promise<AccountHmacs | null>>()
  const ofAccount = async ({ account_id }: Hashed, subject: string) => {
    const found = known.get(subject) ?? (api && findAccountHmacs(api, [subject])) ?? Promise.resolve(null)
    known.set(subject, found)
    const hmacs = await found
    return hmacs?.account_id === account_id ? hmacs?.subject_hmacs[0] : undefined
  }
  return {
    isAbout: async (receipt, subject) => {
      if (receipt.subjects) return receipt.subjects.includes(subject)
      const ofProfile = () => (key?.id === receipt.key_id ? key.hmacOf(subject) : undefined)
      const hmac = receipt.hmac_key === 'account' ? await ofAccount(receipt, subject) : ofProfile()
      return hmac === undefined ? null : receipt.subject_hmacs.includes(hmac)
    },
  }
}
