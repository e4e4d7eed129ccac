import type { Client } from '../../client/client.ts'
import { type Site, sites } from '../../contract/sites.ts'
import { CliError, exit } from '../../errors/errors.ts'

/** @throws CliError `not_found` (exit 3) */
export async function findSite(api: Client, id: string): Promise<Site> {
  const { data } = await api.call(sites.list, {})
  const site = data.find(each => each.id === id)
  if (!site) throw new CliError('not_found', exit.notFound, `no site with id ${id}`)
  return site
}
