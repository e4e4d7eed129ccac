import type { FunctionComponent } from 'preact'
import { api } from '../../../../src/contract/api.ts'
import type { Route } from '../../../../src/contract/endpoint.ts'
import { Audit } from './audit.tsx'
import { Keys } from './keys.tsx'
import { Notices } from './notices.tsx'
import { Person } from './person.tsx'
import { Records } from './records.tsx'
import { Requests } from './requests.tsx'
import { Sites } from './sites.tsx'
import { Start } from './start.tsx'
import { Statistics } from './statistics.tsx'
import { Usage } from './usage.tsx'
import { Webhooks } from './webhooks.tsx'

export interface ScreenEntry {
  /** The first part of the screen's address. */
  readonly path: string
  readonly title: string
  /** What it reads: it is hidden from a user who may not. */
  readonly reads: Pick<Route, 'roles'>
  /** Pattern of the joined `params`. Anyone can write a link to this page: other text is neither shown nor put into a command. */
  readonly address: RegExp
  readonly show: FunctionComponent<{ readonly params: readonly string[] }>
}

const none = /^$/
const id = '[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}'
const version = '\\d{1,10}'
const language = '[a-z]{2,3}(?:-[a-z\\d]{1,8})*'

/** In the order of the navigation. */
export const screens: readonly ScreenEntry[] = [
  { path: 'start', title: 'Start', reads: api.stats.get, address: none, show: Start },
  {
    path: 'requests',
    title: 'Requests',
    reads: api.requests.list,
    address: RegExp(`^(closed|${id})?$`, 'i'),
    show: Requests,
  },
  { path: 'records', title: 'Records', reads: api.consents.list, address: RegExp(`^(${id})?$`, 'i'), show: Records },
  { path: 'person', title: 'Person', reads: api.consents.list, address: none, show: Person },
  { path: 'statistics', title: 'Statistics', reads: api.stats.get, address: none, show: Statistics },
  {
    path: 'notices',
    title: 'Notices',
    reads: api.notices.list,
    address: RegExp(`^(${id}(/${version}(/who|/since/${version}|/text/${language})?)?)?$`, 'i'),
    show: Notices,
  },
  { path: 'sites', title: 'Sites', reads: api.sites.list, address: RegExp(`^(new|${id})?$`, 'i'), show: Sites },
  { path: 'keys', title: 'Keys', reads: api.keys.list, address: none, show: Keys },
  { path: 'webhooks', title: 'Webhooks', reads: api.webhooks.list, address: RegExp(`^(${id})?$`, 'i'), show: Webhooks },
  { path: 'audit', title: 'Audit', reads: api.audit.list, address: none, show: Audit },
  { path: 'usage', title: 'Usage', reads: api.usage.get, address: none, show: Usage },
]
