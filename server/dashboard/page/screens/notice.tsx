import { api } from '../../../../src/contract/api.ts'
import type { Notice, NoticePurpose, NoticeText } from '../../../../src/contract/notices.ts'
import { visible } from '../../../../src/output/safe.ts'
import { useAction, useCall } from '../call.ts'
import { option } from '../parts/command.tsx'
import { Select } from '../parts/form.tsx'
import { downloadText } from '../parts/notice-text.ts'
import { Problem } from '../parts/problem.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { type Column, Details, Table } from '../parts/table.tsx'
import { formatNumber, Id, Tag, Text, Time } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client } from '../session.ts'

interface NoticeProps {
  readonly site: string
  readonly version: string
}

export function NoticeScreen({ site, version }: NoticeProps) {
  const found = useCall(() => client.call(api.notices.get, { params: { id: site, version } }), [])
  const language = found.value?.texts[0]?.language
  const command = language
    ? ['notices', 'show', version, ...option('site', site), ...option('lang', language)]
    : ['notices', 'list', ...option('site', site)]
  return (
    <Screen title={`Notice ${version}`} command={command}>
      <p>
        <a href={linkTo('notices', site)}>All notices of the site</a>
      </p>
      <Show of={found}>
        {notice => (
          <>
            <NoticeDetails of={notice} />
            <h2>Texts</h2>
            <Table
              label="Texts"
              columns={textColumns(notice)}
              rows={notice.texts}
              rowKey={row => row.language}
              empty="No texts yet."
            />
            <h2>Purposes</h2>
            <Table
              label="Purposes"
              columns={purposeColumns}
              rows={notice.purposes}
              rowKey={row => JSON.stringify([row.key, row.language])}
              empty="No purposes."
            />
            <Compare site={site} version={version} />
            <h2>Who agreed to it</h2>
            <p>
              <a href={linkTo('notices', site, version, 'who')}>List who agreed to this version and to nothing newer</a>
            </p>
          </>
        )}
      </Show>
    </Screen>
  )
}

function NoticeDetails({ of: notice }: { readonly of: Notice }) {
  const isPublished = notice.state === 'published'
  return (
    <Details
      rows={[
        ['State', <NoticeState of={notice.state} key="" />],
        ['Published', <Time at={notice.published_at} key="" />],
        ['In effect from', notice.effective_from ? <Time at={notice.effective_from} /> : 'its publication'],
        ['Controller', <Text of={notice.controller} key="" />],
        ['A consent is valid for', notice.valid_for ? <Text of={notice.valid_for} /> : 'without end'],
        ['Earlier consents', notice.requires_renewal ? 'no longer count once it is in effect' : 'stay valid'],
        ['Site', <Id of={notice.site_id} key="" />],
        ['Created', <Time at={notice.created_at} key="" />],
        ['Updated', <Time at={notice.updated_at} key="" />],
        ...(isPublished
          ? [
              ['Entry of the administrators’ log', format(notice.published_entry)] as const,
              ['Place in the signed log', format(notice.leaf_index)] as const,
            ]
          : []),
      ]}
    />
  )
}

export function NoticeState({ of: state }: { readonly of: string }) {
  const isPublished = state === 'published'
  return <Tag tone={isPublished ? 'good' : 'plain'}>{isPublished ? 'published' : 'draft'}</Tag>
}

function format(value: number | null): string {
  return value === null ? 'not yet' : formatNumber(value)
}

function textColumns(notice: Notice): Column<NoticeText>[] {
  const { site_id, policy_version } = notice
  return [
    {
      title: 'Language',
      cell: ({ language }) => (
        <a href={linkTo('notices', site_id, String(policy_version), 'text', language)}>
          <Text of={language} />
        </a>
      ),
    },
    { title: 'Type', cell: ({ media_type }) => <Text of={media_type} /> },
    { title: 'Bytes', isNumber: true, cell: ({ size }) => formatNumber(size) },
    { title: 'File', cell: text => <Download notice={notice} text={text} /> },
    { title: 'SHA-256', cell: ({ sha256 }) => <Id of={sha256} /> },
  ]
}

export function Download({ notice, text }: { readonly notice: Notice; readonly text: NoticeText }) {
  const action = useAction(() => downloadText(notice, text))
  return (
    <>
      <button type="button" class="small" aria-label={`Download ${visible(text.language)}`} onClick={action.run}>
        Download
      </button>
      <Problem error={action.error} />
    </>
  )
}

const purposeColumns: Column<NoticePurpose>[] = [
  { title: 'Key', cell: ({ key }) => <Text of={key} /> },
  { title: 'Title', cell: ({ title }) => <Text of={title} /> },
  { title: 'Language', cell: ({ language }) => <Text of={language} /> },
  { title: 'IRI', cell: ({ iri }) => <Text of={iri} /> },
]

function Compare({ site, version }: NoticeProps) {
  const found = useCall(() => client.call(api.notices.list, { params: { id: site } }), [])
  const others = (found.value?.data ?? []).map(each => String(each.policy_version)).filter(each => each !== version)
  if (found.value && others.length === 0) return null
  const options = others.map(each => [each, `version ${each}`] as const)
  const open = (other: string) => {
    if (other) location.hash = linkTo('notices', site, version, 'since', other)
  }
  return (
    <>
      <h2>Compare</h2>
      <Show of={found}>
        {() => (
          <Select label="What differs from" value="" onValue={open} options={[['', 'Choose a version'], ...options]} />
        )}
      </Show>
    </>
  )
}
