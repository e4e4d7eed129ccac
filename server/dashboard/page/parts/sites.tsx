import { api } from '../../../../src/contract/api.ts'
import type { Site } from '../../../../src/contract/sites.ts'
import { visible } from '../../../../src/output/safe.ts'
import { type Loaded, useCall } from '../call.ts'
import { client } from '../session.ts'
import { Checks, Select } from './form.tsx'
import { Id, Text } from './text.tsx'

export function useSites(): Loaded<readonly Site[]> {
  return useCall(async () => {
    const { data } = await client.call(api.sites.list, {})
    return data.sort((one, other) => one.name.localeCompare(other.name) || one.id.localeCompare(other.id))
  }, [])
}

interface SiteSelectProps {
  readonly sites: readonly Site[]
  readonly name?: string
  readonly value: string
  readonly onValue: (id: string) => void
  /** Text of the empty choice, such as "All sites". */
  readonly none: string
}

/** Appends the end of the id to a name shared by two sites. */
export function SiteSelect({ sites, none, ...select }: SiteSelectProps) {
  const textOf = ({ id, name }: Site) => {
    const isShared = sites.some(other => other.name === name && other.id !== id)
    return isShared ? `${visible(name)} (…${id.slice(-6)})` : visible(name)
  }
  const options = sites.map(site => [site.id, textOf(site)] as const)
  return <Select label="Site" options={[['', none], ...options]} {...select} />
}

export function SiteName({ sites, id }: { readonly sites: readonly Site[]; readonly id: string | null }) {
  const site = sites.find(each => each.id === id)
  return site ? <Text of={site.name} /> : id === null ? <span class="none">(none)</span> : <Id of={id} />
}

interface SiteNamesProps {
  readonly sites: readonly Site[]
  readonly ids: readonly string[] | null
}

export function SiteNames({ sites, ids }: SiteNamesProps) {
  if (ids === null) return <span class="none">every site</span>
  return (
    <>
      {ids.map(id => (
        <div key={id}>
          <SiteName sites={sites} id={id} />
        </div>
      ))}
    </>
  )
}

interface SiteChecksProps {
  readonly sites: readonly Site[]
  readonly chosen: readonly string[]
  readonly onChosen: (ids: readonly string[]) => void
}

/** Shown only if there is a choice. */
export function SiteChecks({ sites, ...checks }: SiteChecksProps) {
  if (sites.length < 2) return null
  const options = sites.map(({ id, name }) => [id, visible(name)] as const)
  return <Checks legend="Only these sites (none chosen: every site)" options={options} {...checks} />
}
