import type { Call } from '../client/errors.ts'

/** A call that may have been carried out, but whose answer is not known. */
export interface Lost {
  readonly outcome: string
  readonly hint: string
}

/** By the path of a POST whose answer was lost: what may have come of it, and how to find out. */
const lostCalls: Record<string, Lost> = {
  '/api/v1/consents': {
    outcome: 'the record may have been made or not',
    hint: 'consentctl list, before you create it again',
  },
  '/api/v1/consents/batch': {
    outcome: 'its record may have been made or not',
    hint: 'consentctl list, before you create it again',
  },
  '/api/v1/keys': {
    outcome: 'the key may have been made or not',
    hint: 'consentctl keys list, and revoke it if it is there: its text is lost',
  },
  '/api/v1/sites': {
    outcome: 'the site may have been made or not',
    hint: 'consentctl sites list; if it is there, give it a new token, for the first one is lost',
  },
  '/api/v1/sites/:id/token': {
    outcome: 'the site may have a new token or not',
    hint: 'consentctl sites rotate-token once more: such a token is lost',
  },
}

/** What is unknown of a call that may have been carried out, unless doing it twice is as good as once. */
export function lostIf(isCarriedOut: boolean, { idempotent, path }: Call): Lost | undefined {
  if (!isCarriedOut || idempotent) return undefined
  return lostCalls[path] ?? { outcome: 'it may have been done or not', hint: 'look, before you do it again' }
}
