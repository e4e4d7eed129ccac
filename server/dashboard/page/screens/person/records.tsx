import type { ComponentChildren } from 'preact'
import type { Consent } from '../../../../../src/contract/index.ts'
import type { Site } from '../../../../../src/contract/sites.ts'
import { Consented } from '../../parts/preferences.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Answered, Id, Tag, Text, Time } from '../../parts/text.tsx'
import { linkTo } from '../../router.ts'

export function RecordLink({ id }: { readonly id: string }) {
  return (
    <a href={linkTo('records', id)}>
      <Id of={id} />
    </a>
  )
}

export function SiteName({ sites, id }: { readonly sites: readonly Site[]; readonly id: string | null }) {
  const site = sites.find(each => each.id === id)
  return site ? <Text of={site.name} /> : id === null ? <span class="none">(none)</span> : <Id of={id} />
}

function Origin({ origin }: Pick<Consent, 'origin'>): ComponentChildren {
  return origin ? (
    <>
      imported from <Text of={origin.system} />
    </>
  ) : (
    'witnessed'
  )
}

interface RecordsProps {
  readonly label: string
  readonly records: readonly Consent[]
  readonly sites: readonly Site[]
  readonly empty: string
}

export function Records({ label, records, sites, empty }: RecordsProps) {
  const columns: readonly Column<Consent>[] = [
    { title: 'Record', cell: ({ id }) => <RecordLink id={id} /> },
    {
      title: 'State',
      cell: ({ deleted_at }) => (deleted_at ? <Tag tone="plain">deleted</Tag> : <Tag tone="good">live</Tag>),
    },
    { title: 'Consent', cell: row => <Consented of={row} /> },
    { title: 'Created', cell: row => <Answered of={row} /> },
    { title: 'Site', cell: ({ site_id }) => <SiteName sites={sites} id={site_id} /> },
    { title: 'Identifier', cell: ({ subject_id }) => <Text of={subject_id} /> },
    { title: 'Label', cell: ({ consent_id }) => <Text of={consent_id} /> },
    { title: 'Policy', cell: ({ policy_version }) => policy_version, isNumber: true },
    { title: 'Deleted', cell: ({ deleted_at }) => deleted_at && <Time at={deleted_at} /> },
    { title: 'Origin', cell: ({ origin }) => Origin({ origin }) },
  ]
  return <Table label={label} columns={columns} rows={records} rowKey={({ id }) => id} empty={empty} />
}
