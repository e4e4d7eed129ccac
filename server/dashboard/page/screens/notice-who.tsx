import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import type { NoticeSubject } from '../../../../src/contract/notice-subjects.ts'
import { useAction, useCall } from '../call.ts'
import { option } from '../parts/command.tsx'
import { Problem } from '../parts/problem.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { formatCount, Id, Text, Time } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client } from '../session.ts'

interface WhoProps {
  readonly site: string
  readonly version: string
}

/** Read after a first page. If that is read again they no longer continue it. */
interface More {
  readonly first: unknown
  readonly rows: readonly NoticeSubject[]
  readonly cursor: string | null
}

/** Who agreed to a version and to nothing newer, a page at each press of the button. */
export function NoticeSubjects({ site, version }: WhoProps) {
  const read = (cursor?: string) =>
    client.call(api.notices.subjects, {
      params: { id: site, version },
      query: { limit: '100', ...(cursor && { cursor }) },
    })
  const first = useCall(() => read(), [])
  const [continued, setMore] = useState<More>()
  const more = continued?.first === first.value ? continued : undefined
  const cursor = more ? more.cursor : (first.value?.next_cursor ?? null)
  const continuing = useAction(async () => {
    const { data, next_cursor } = await read(cursor ?? undefined)
    setMore({ first: first.value, rows: [...(more?.rows ?? []), ...data], cursor: next_cursor })
  })
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
        again when a newer notice requires it.
      </p>
      <Show of={first}>
        {({ data }) => {
          const rows = [...data, ...(more?.rows ?? [])]
          return (
            <>
              <Table
                label="Persons"
                columns={columns}
                rows={rows}
                rowKey={row => row.id}
                empty={cursor === null ? 'Nobody.' : 'Nobody so far.'}
              />
              <p role="status">
                {formatCount(rows.length, 'person')}
                {cursor !== null && ' so far'}
              </p>
              <Problem error={continuing.error} />
              {cursor !== null && (
                <button type="button" disabled={continuing.isRunning} onClick={continuing.run}>
                  Show more
                </button>
              )}
            </>
          )
        }}
      </Show>
    </Screen>
  )
}

const columns: Column<NoticeSubject>[] = [
  { title: 'subject', cell: ({ subject_id }) => <Text of={subject_id} /> },
  { title: 'stated', cell: ({ updated_at }) => <Time at={updated_at} /> },
  { title: 'language', cell: ({ notice_locale }) => <Text of={notice_locale} /> },
  { title: 'expires', cell: ({ expires_at }) => <Time at={expires_at} /> },
  { title: 'notice', cell: ({ notice_held }) => (notice_held ? 'held' : 'not held') },
  {
    title: 'record',
    cell: ({ id }) => (
      <a href={linkTo('records', id)}>
        <Id of={id} />
      </a>
    ),
  },
]
