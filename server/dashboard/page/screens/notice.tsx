import { api } from '../../../../src/contract/api.ts'
import type { NoticeSubject } from '../../../../src/contract/notice-subjects.ts'
import type { Notice, NoticePurpose, NoticeText } from '../../../../src/contract/notices.ts'
import { useCall } from '../call.ts'
import { options } from '../parts/command.tsx'
import { Select } from '../parts/form.tsx'
import { PagedTable, usePages } from '../parts/paged-table.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { type Columns, Details, Table } from '../parts/table.tsx'
import { formatNumber, Id, Link, RecordLink, Tag, Text, Time } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client, useMay } from '../session.ts'
import { Download } from './notice-text.tsx'

interface NoticeProps {
  readonly site: string
  readonly version: string
}

export function NoticeScreen({ site, version }: NoticeProps) {
  const mayListSubjects = useMay(api.notices.subjects)
  const found = useCall(async () => {
    const [notice, all] = await Promise.all([
      client.call(api.notices.get, { params: { id: site, version } }),
      client.call(api.notices.list, { params: { id: site } }).catch(() => ({ data: [] })), // only to compare
    ])
    return { notice, versions: all.data.map(each => String(each.policy_version)) }
  }, [])
  const language = found.value?.notice.texts[0]?.language
  const command = language
    ? ['notices', 'show', version, ...options({ site, lang: language })]
    : ['notices', 'list', ...options({ site })]
  return (
    <Screen
      title={`Notice ${version}`}
      command={command}
      links={<Link to={['notices', site]}>All notices of the site</Link>}
    >
      <Show of={found}>
        {({ notice, versions }) => (
          <>
            <NoticeDetails of={notice} />
            <Table label="Texts" isTitled columns={textColumns(notice)} rows={notice.texts} empty="No texts yet." />
            <Table label="Purposes" isTitled columns={purposeColumns} rows={notice.purposes} empty="No purposes." />
            <Compare site={site} version={version} others={versions.filter(each => each !== version)} />
            {mayListSubjects && (
              <>
                <h2>Who agreed to it</h2>
                <p>
                  <Link to={['notices', site, version, 'who']}>
                    List who agreed to this version and to nothing newer
                  </Link>
                </p>
              </>
            )}
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
      of={{
        State: <NoticeState of={notice.state} />,
        Published: <Time at={notice.published_at} />,
        'In effect from': notice.effective_from ? <Time at={notice.effective_from} /> : 'its publication',
        Controller: <Text of={notice.controller} />,
        'A consent is valid for': notice.valid_for ? <Text of={notice.valid_for} /> : 'no limit',
        'Earlier consents': notice.requires_renewal ? 'no longer count once it is in effect' : 'stay valid',
        Site: <Id of={notice.site_id} />,
        Created: <Time at={notice.created_at} />,
        Updated: <Time at={notice.updated_at} />,
        'Entry of the administrators’ log': isPublished && format(notice.published_entry),
        'Place in the signed log': isPublished && format(notice.leaf_index),
      }}
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

function textColumns(notice: Notice): Columns<NoticeText> {
  const path = ['notices', notice.site_id, String(notice.policy_version), 'text'] as const
  return {
    Language: ({ language }) => <Link to={[...path, language]}>{language}</Link>,
    Type: ({ media_type }) => <Text of={media_type} />,
    Bytes: ({ size }) => size,
    File: text => <Download notice={notice} text={text} />,
    'SHA-256': ({ sha256 }) => <Id of={sha256} />,
  }
}

const purposeColumns: Columns<NoticePurpose> = {
  Key: ({ key }) => <Text of={key} />,
  Title: ({ title }) => <Text of={title} />,
  Language: ({ language }) => <Text of={language} />,
  IRI: ({ iri }) => <Text of={iri} />,
}

function Compare({ site, version, others }: NoticeProps & { readonly others: readonly string[] }) {
  if (others.length === 0) return null
  const options = others.map(each => [each, `version ${each}`] as const)
  const open = (other: string) => {
    if (other) location.hash = linkTo('notices', site, version, 'since', other)
  }
  return (
    <>
      <h2>Compare</h2>
      <Select label="What differs from" value="" onValue={open} options={[['', 'Choose a version'], ...options]} />
    </>
  )
}

export function NoticeSubjects({ site, version }: NoticeProps) {
  const params = { id: site, version }
  const pages = usePages(
    cursor => client.call(api.notices.subjects, { params, query: { limit: '100', ...cursor } }),
    null,
  )
  return (
    <Screen
      title={`Who agreed to notice ${version}`}
      command={['notices', 'who', ...options({ version, site })]}
      links={<Link to={['notices', site, version]}>Notice {version}</Link>}
    >
      <p>
        Each person whose newest answer on the site is accepted and of this version, once, newest first: those to ask
        again when a newer notice requires it. Not held: the service did not hold the notice when it wrote the record.
      </p>
      <PagedTable
        label="Persons, newest record first"
        columns={subjectColumns}
        pages={pages}
        empty="No persons."
        emptyPage="No persons on this page. Older records may have some."
      />
    </Screen>
  )
}

const subjectColumns: Columns<NoticeSubject> = {
  Subject: ({ subject_id }) => <Text of={subject_id} />,
  Stated: ({ given_at, updated_at }) => (
    <>
      <Time at={given_at ?? updated_at} />
      {given_at && ', as imported'}
    </>
  ),
  Language: ({ notice_locale }) => <Text of={notice_locale} />,
  Expires: ({ expires_at }) => <Time at={expires_at} />,
  Notice: ({ notice_held }) => (notice_held ? 'held' : 'not held'),
  Record: ({ id }) => <RecordLink id={id} />,
}
