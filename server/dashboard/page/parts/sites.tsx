import { api } from '../../../../src/contract/api.ts'
import type { Site } from '../../../../src/contract/sites.ts'
import { visible } from '../../../../src/output/safe.ts'
import { type Loaded, useCall } from '../call.ts'
import { client } from '../session.ts'
import { Select } from './form.tsx'

/** The sites of the account, by name. */
export function useSites(): Loaded<readonly Site[]> {
  return useCall(async () => {
    const { data } = await client.call(api.sites.list, {})
    return data.sort((one, other) => one.name.localeCompare(other.name) || one.id.localeCompare(other.id))
  }, [])
}

interface SiteSelectProps {
  readonly sites: readonly Site[]
  /** An id, or nothing. */
  readonly value: string
  readonly onValue: (id: string) => void
  /** Of the choice of no site, such as "All sites". */
  readonly none: string
}

/** Two sites of one name differ by the end of their ids. */
export function SiteSelect({ sites, value, onValue, none }: SiteSelectProps) {
  const textOf = ({ id, name }: Site) => {
    const isShared = sites.some(other => other.name === name && other.id !== id)
    return isShared ? `${visible(name)} (…${id.slice(-6)})` : visible(name)
  }
  const options = sites.map(site => [site.id, textOf(site)] as const)
  return <Select label="Site" value={value} onValue={onValue} options={[['', none], ...options]} />
}
