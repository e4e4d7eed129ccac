import type { api } from '../../src/contract/index.ts'

/** What holds for the whole API. */
export const introduction = `\
Proof of consent: who accepted or refused what, when, under which policy.

**Errors.** Every answer that is no success is \`{"error", "message"}\`: a code for programs and a sentence for people.
They are looked for in this order: the credential (401), the route (404), the quota (429), what the credential may do
(403), the request (400), the record (404). What belongs to others is answered exactly like what does not exist. A path
that exists answers 405 with \`Allow\` to a method it does not have.

**Requests.** Bodies are JSON in UTF-8. Nothing is guessed: an unknown field or parameter, a value of another type, null,
an empty or repeated parameter, a key given twice, a number that a double cannot hold are refused with 400. Text is
well-formed Unicode without NUL, counted in code points, and kept exactly as it was sent.

**Answers.** Every field is there, null where it has no value. Timestamps are RFC 3339 in UTC with milliseconds. Every
answer has an \`X-Request-Id\` and is for no cache to keep.

**Quota.** A calendar month in UTC; an API key takes one unit a request, whatever comes of it but 401, 429 and 5xx. The
erasure of a subject is never refused for want of one: where none is left it takes none.`

/** What each resource is. */
export const tags: Readonly<Record<keyof typeof api, string>> = {
  consents: 'Consent records and their audit trail.',
  banner: 'The public flow of browsers, with the token of a site.',
  session: 'Signing in and out.',
  keys: 'API keys, for users who signed in.',
  sites: 'Sites and their tokens, for users who signed in.',
  subjects: 'What an account holds on one person.',
  usage: 'The monthly quota.',
  signingKeys: 'What signed documents of the service are verified with.',
  health: 'For load balancers and supervisors.',
  description: 'This document.',
}
