import { ConsentDraft } from '../../../contract/consents.ts'
import { text } from '../../../contract/values.ts'
import { dataError } from '../../../errors/errors.ts'
import type { LineKind } from './lines.ts'

/** Other instances may have other ids than UUIDs. */
const Draft = ConsentDraft.extend({ site_id: text(1, 255) })

const fields = Object.keys(ConsentDraft.shape)

const siteHint = 'use --site NAME, or store it in the profile: consentctl config set site NAME'

export const newRecords: LineKind<ConsentDraft> = {
  noun: 'a new record',
  fields,
  silenceRefuses: true,
  check: (given: { readonly site_id?: unknown }, name: string) => {
    if (given.site_id === undefined) throw dataError(`${name} has no site_id, and no --site is given`, siteHint)
    const { error } = Draft.safeParse(given)
    const issue = error?.issues[0]
    if (issue?.code === 'unrecognized_keys')
      throw dataError(`${name}: "${issue.keys[0]}" is not a field of a new record`, `use ${fields.join(', ')}`)
    if (issue) throw dataError(`${name}: ${issue.path.join('.')} ${issue.message}`)
  },
}
