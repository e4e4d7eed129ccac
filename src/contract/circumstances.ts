import * as z from 'zod'
import type { CircumstanceName } from './circumstance-words.ts'
import { FileDigest, onRequest, PastInstant, text } from './values.ts'

export const methods = ['web', 'app', 'phone', 'paper', 'verbal', 'import'] as const

export const givers = ['self', 'guardian', 'agent'] as const

/** How an answer was given, as reported by the sender. Bounded, because anyone can send it from a browser. */
export const Circumstances = z
  .strictObject({
    method: z.enum(methods).optional().describe('How the answer was given.'),
    channel: text(1, 100).optional().describe('Where within the method, such as a shop or a hotline.'),
    form: text(1, 300).optional().describe('Address or name of what was shown. It outlives a purge.'),
    form_sha256: FileDigest.optional().describe('Its digest; only with `form`.'),
    given_by: z.enum(givers).optional().describe('Who gave the answer.'),
    relation: text(1, 100)
      .optional()
      .describe('Of the giver to the subject; only with `given_by` guardian or agent. A purge removes it.'),
    confirmed_at: PastInstant.optional().describe('When the answer was confirmed elsewhere, such as by double opt-in.'),
    reference: text(1, 200).optional().describe('Of that confirmation, or of the original. A purge removes it.'),
    note: text(1, 500).optional().describe('A purge removes it.'),
  } satisfies Record<CircumstanceName, z.ZodType>)
  .superRefine((given, context) => {
    const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message })
    if (Object.values(given).every(value => value === undefined)) refuse([], 'must have at least one field')
    if (given.form_sha256 !== undefined && given.form === undefined) refuse(['form_sha256'], 'needs form')
    if (given.relation !== undefined && (given.given_by ?? 'self') === 'self')
      refuse(['relation'], 'needs given_by guardian or agent')
  })
  .meta({
    description: 'How the answer was given, as reported by the sender; in the history of the record alone.',
    minProperties: 1,
    dependentRequired: { form_sha256: ['form'], relation: ['given_by'] },
    examples: [{ method: 'paper', form: 'F-12', given_by: 'guardian', relation: 'mother' }],
  })
export type Circumstances = z.output<typeof Circumstances>

/** Personal data, which a purge removes. The payload hash covers it, and the facts cover the rest. */
export const personalCircumstances = ['note', 'reference', 'relation'] as const satisfies readonly CircumstanceName[]

/** As an entry of the history has them. Loose, because the hashes cover all names. */
export const ReportedCircumstances = z.looseObject({
  method: onRequest(z.string().meta({ enum: [...methods] })),
  channel: onRequest(z.string()),
  form: onRequest(z.string()),
  form_sha256: onRequest(z.string()),
  given_by: onRequest(z.string().meta({ enum: [...givers] })),
  relation: onRequest(z.string()),
  confirmed_at: onRequest(z.string()),
  reference: onRequest(z.string()),
  note: onRequest(z.string()),
} satisfies Record<CircumstanceName, z.ZodType>)
