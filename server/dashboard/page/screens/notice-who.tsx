import { api } from '../../../../src/contract/api.ts'
import type { NoticeSubject } from '../../../../src/contract/notice-subjects.ts'
import { useCall } from '../call.ts'
import { usePages } from '../pages.ts'
import { option } from '../parts/command.tsx'
import { Pager } from '../parts/pager.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Id, Text, Time } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client } from '../session.ts'

interface WhoProps {
  readonly site: string
  readonly version: string
}

export function NoticeSubjects({ site, version }: WhoProps) {
  const pages = usePages([])
  const query = { limit: '100', ...(pages.cursor && { cursor: pages.cursor }) }
  const page = useCall(
    () => client.call(api.notices.subjects, { params: { id: site, version }, query }),
    [pages.cursor],
  )
  return (
    <Screen
      title={`Who agreed to notice ${version}`}
      command={['notices', 'who', ...option('version', version), ...option('site', site)]}
    >
      <p>
        <a href={linkTo('notices', site, version)}>Notice {version}</a>
      </p>
      <p>
        Each person whose newest answer on the site is accepted and of this version, once, newest first: whom to ask
        again when a newer notice requires it. Not held: the service did not hold the notice when it wrote the record.
      </p>
      <Show of={page}>
        {({ data, next_cursor: next }) => (
          <>
            <Table
              label="Persons, newest record first"
              columns={columns}
              rows={data}
              rowKey={row => row.id}
              empty={next === null ? 'Nobody.' : 'Nobody on this page. Older records may have somebody.'}
            />
            <Pager pages={pages} next={next} isLoading={page.isLoading} />
          </>
        )}
      </Show>
    </Screen>
  )
}

const columns: Column<NoticeSubject>[] = [
  { title: 'Subject', cell: ({ subject_id }) => <Text of={subject_id} /> },
  {
    title: 'Stated',
    cell: ({ given_at, updated_at }) => (
      <>
        <Time at={given_at ?? updated_at} />
        {given_at && ', as imported'}
      </>
    ),
  },
  { title: 'Language', cell: ({ notice_locale }) => <Text of={notice_locale} /> },
  { title: 'Expires', cell: ({ expires_at }) => <Time at={expires_at} /> },
  { title: 'Notice', cell: ({ notice_held }) => (notice_held ? 'held' : 'not held') },
  {
    title: 'Record',
    cell: ({ id }) => (
      <a href={linkTo('records', id)}>
        <Id of={id} />
      </a>
    ),
  },
]
