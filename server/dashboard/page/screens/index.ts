import type { FunctionComponent } from 'preact'
import { Audit } from './audit.tsx'
import { Keys } from './keys.tsx'
import { Notices } from './notices.tsx'
import { Person } from './person.tsx'
import { Records } from './records.tsx'
import { Sites } from './sites.tsx'
import { Statistics } from './statistics.tsx'
import { Usage } from './usage.tsx'

export interface ScreenEntry {
  /** The first part of its address. */
  readonly path: string
  readonly title: string
  /** `params` are the further parts of the address. */
  readonly show: FunctionComponent<{ readonly params: readonly string[] }>
}

/** In the order of the navigation. */
export const screens: readonly ScreenEntry[] = [
  { path: 'records', title: 'Records', show: Records },
  { path: 'person', title: 'Person', show: Person },
  { path: 'statistics', title: 'Statistics', show: Statistics },
  { path: 'notices', title: 'Notices', show: Notices },
  { path: 'sites', title: 'Sites', show: Sites },
  { path: 'keys', title: 'Keys', show: Keys },
  { path: 'audit', title: 'Audit', show: Audit },
  { path: 'usage', title: 'Usage', show: Usage },
]
