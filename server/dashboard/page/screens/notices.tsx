import { useEffect } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import type { Notice } from '../../../../src/contract/notices.ts'
import { useCall } from '../call.ts'
import { options } from '../parts/command.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { SiteSelect, useSites } from '../parts/sites.tsx'
import { type Columns, Table } from '../parts/table.tsx'
import { Link, Text, Time } from '../parts/text.tsx'
import { linkTo } from '../router.ts'
import { client } from '../session.ts'
import { NoticeScreen, NoticeState, NoticeSubjects } from './notice.tsx'
import { NoticeDifference } from './notice-difference.tsx'
import { NoticeTextScreen } from './notice-text.tsx'

/** `params`: `SITE`, `SITE/VERSION`, `SITE/VERSION/text/LANGUAGE`, `SITE/VERSION/since/OLDER` or `SITE/VERSION/who`. */
export function Notices({ params }: { readonly params: readonly string[] }) {
  const [site = '', version, part, other = ''] = params
  const key = params.join('/')
  if (version === undefined) return <SiteNotices site={site} />
  if (part === 'text') return <NoticeTextScreen site={site} version={version} language={other} key={key} />
  if (part === 'since') return <NoticeDifference site={site} version={version} older={other} key={key} />
  if (part === 'who') return <NoticeSubjects site={site} version={version} key={key} />
  return <NoticeScreen site={site} version={version} key={key} />
}

function SiteNotices({ site }: { readonly site: string }) {
  const sites = useSites()
  const [only, another] = sites.value ?? []
  useEffect(() => {
    if (site === '' && only && !another) location.replace(linkTo('notices', only.id))
  }, [site, only, another])
  const open = (id: string) => {
    location.hash = linkTo('notices', id)
  }
  const policyVersion = sites.value?.find(({ id }) => id === site)?.policy_version
  return (
    <Screen title="Notices" command={['notices', 'list', ...options({ site })]}>
      <Show of={sites}>{all => <SiteSelect sites={all} value={site} onValue={open} none="Choose a site" />}</Show>
      {policyVersion !== undefined && <p>New records of the site get policy version {policyVersion}.</p>}
      {site && <List site={site} key={site} />}
    </Screen>
  )
}

function List({ site }: { readonly site: string }) {
  const found = useCall(() => client.call(api.notices.list, { params: { id: site } }), [])
  return (
    <Show of={found}>
      {({ data }) => (
        <Table
          label="Notices, newest version first"
          columns={columns}
          rows={data}
          empty="The site has no notices. Publish one with consentctl notices publish."
        />
      )}
    </Show>
  )
}

const columns: Columns<Notice> = {
  Version: ({ site_id: site, policy_version: version }) => (
    <Link to={['notices', site, String(version)]}>{version}</Link>
  ),
  State: ({ state }) => <NoticeState of={state} />,
  Languages: ({ texts }) => <Text of={texts.map(({ language }) => language).join(' ')} />,
  Purposes: ({ purposes }) => <Text of={[...new Set(purposes.map(({ key }) => key))].join(' ')} />,
  'Valid for': ({ valid_for }) => (valid_for ? <Text of={valid_for} /> : 'no limit'),
  Renewal: ({ requires_renewal }) => (requires_renewal ? 'required' : 'no'),
  'In effect from': ({ effective_from, published_at: at }) =>
    effective_from || at ? <Time at={effective_from ?? at} /> : 'its publication',
  Published: ({ published_at }) => <Time at={published_at} />,
}
