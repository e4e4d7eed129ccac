import type { Consent } from '../../../../../src/contract/consents.ts'
import type { Site } from '../../../../../src/contract/sites.ts'
import { visible } from '../../../../../src/output/safe.ts'
import { Consented, formatValue } from '../../parts/preferences.tsx'
import type { Column } from '../../parts/table.tsx'
import { Answered, Id, Tag, Text, Time } from '../../parts/text.tsx'
import type { Filters } from './filters.ts'

/** Shows the time that the filters select by in place of the creation. */
export function columnsOf({ end, imported }: Filters, sites: readonly Site[]): readonly Column<Consent>[] {
  const names = new Map(sites.map(({ id, name }) => [id, name]))
  const isImported = imported === 'true'
  return [
    { title: 'Subject', cell: row => (row.subject_id ? <Text of={row.subject_id} /> : <NoSubject id={row.id} />) },
    {
      title: 'Consent',
      cell: row => (row.deleted_at ? <Tag tone="plain">deleted</Tag> : <Consented of={row} />),
    },
    end
      ? { title: 'Valid until', cell: row => <Time at={row.expires_at} /> }
      : { title: isImported ? 'Answered, as imported' : 'Created', cell: row => <Answered of={row} /> },
    { title: 'Site', cell: row => <Text of={names.get(row.site_id ?? '') ?? row.site_id} /> },
    isImported
      ? { title: 'Imported from', cell: row => <Text of={row.origin?.system} /> }
      : { title: 'Label', cell: row => <Text of={row.consent_id} /> },
    { title: 'Policy', cell: row => row.policy_version },
    { title: 'Preferences', cell: row => <Brief of={row.preferences} /> },
  ]
}

/** Includes the id, because the cell is the link to the record. */
function NoSubject({ id }: Pick<Consent, 'id'>) {
  return (
    <>
      <Text of={null} /> (<Id of={id} />)
    </>
  )
}

function Brief({ of }: { readonly of: Consent['preferences'] }) {
  const pairs = Object.entries(of ?? {}).map(([name, value]) => `${visible(name)}: ${formatValue(value)}`)
  return pairs.length === 0 ? <span class="none">none</span> : <bdi>{pairs.join(', ')}</bdi>
}
