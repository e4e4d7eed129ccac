import type { Client } from '../client/client.ts'
import type { Context } from '../context.ts'
import type { Site } from '../contract/sites.ts'
import { isUuid } from '../contract/uuid.ts'
import { CliError, dataError, Explained, exit } from '../errors/errors.ts'
import { explain } from '../errors/explain.ts'

/**
 * Resolves a site's exact name or its UUID. If the key may not list sites, the text is taken as an id.
 * @throws CliError `invalid_data` (exit 5) if no site or several have the name; ApiError (exit 4)
 */
export async function siteIdOf(ctx: Pick<Context, 'api' | 'say'>, text: string): Promise<string> {
  if (isUuid(text)) return text
  const all = await listSites(ctx.api, error => explain(error).reason === 'missing_scope' && explainScope(error, text))
  if (all !== null) return matching(all, text).id
  await ctx.say(`note: the instance does not list its sites to this key, so the site is used as an id`)
  return text
}

/** Each site once. @throws CliError as `siteIdOf` does */
export async function siteIdsOf(ctx: Pick<Context, 'api' | 'say'>, texts: readonly string[]): Promise<string[]> {
  return [...new Set(await Promise.all(texts.map(each => siteIdOf(ctx, each))))]
}

/** Accepts a UUID unchecked if the sites are not listed. @throws CliError as `findSite` does */
export async function knownSiteId(ctx: Pick<Context, 'say'>, api: Client, text: string): Promise<string> {
  const all = await listSites(api)
  if (all !== null) return matching(all, text).id
  if (!isUuid(text)) throw notListed()
  await ctx.say('note: the site is not checked, because the instance does not list its sites to this key')
  return text
}

/**
 * @throws CliError `not_found` (exit 3) for an unknown id, `invalid_data` (exit 5) if no site or several have the name,
 * `not_offered` (exit 2) if the sites are not listed
 */
export async function findSite(api: Client, text: string): Promise<Site> {
  const site = await siteIfListed(api, text)
  if (site === null) throw notListed()
  return site
}

/** Returns null if the key may not list sites. @throws CliError as `findSite` does */
export async function siteIfListed(api: Client, text: string): Promise<Site | null> {
  const all = await listSites(api)
  return all && matching(all, text)
}

async function listSites(
  api: Client,
  explained: (error: unknown) => Error | false = () => false,
): Promise<readonly Site[] | null> {
  const { sites } = await import('../contract/sites.ts')
  try {
    return (await api.call(sites.list, {})).data
  } catch (error) {
    const other = explained(error)
    if (other) throw other
    const { status } = explain(error)
    if (status === 403 || status === 404) return null
    throw error
  }
}

function explainScope(error: unknown, text: string): Explained {
  return new Explained(error, {
    why: `"${text}" is the name of a site, and finding its id needs the scope read`,
    hint: 'use the id of the site, or a key that has this scope too',
  })
}

function notListed(): CliError {
  return new CliError('not_offered', exit.usage, 'the instance does not list its sites to this key', {
    hint: 'use the id of the site',
  })
}

/** @throws CliError `not_found` (exit 3) for an unknown id, `invalid_data` (exit 5) unless exactly one has the name */
export function matching(all: readonly Site[], text: string): Site {
  if (isUuid(text)) {
    const site = all.find(({ id }) => id === text.toLowerCase())
    if (site) return site
    throw new CliError('not_found', exit.notFound, `no site with id ${text}`, { hint: 'consentctl sites list' })
  }
  const [site, ...others] = all.filter(({ name }) => name === text)
  if (site === undefined) throw dataError(`no site is named "${text}"`, knownNames(all, text))
  if (others.length === 0) return site
  const ids = [site, ...others].map(({ id }) => id).join(', ')
  throw dataError(`${others.length + 1} sites are named "${text}"`, `use an id: ${ids}`)
}

/** Returns names that contain the text or are part of it, ignoring case and blanks; else the first names. */
function knownNames(all: readonly Site[], text: string): string {
  const names = [...new Set(all.map(({ name }) => name))]
  const near = names.filter(name => fold(name).includes(fold(text)) || fold(text).includes(fold(name)))
  const shown = (near.length > 0 ? near : names).slice(0, 3).map(name => `"${name}"`)
  if (near.length > 0) return `did you mean ${shown.join(' or ')}?`
  return `sites: ${shown.join(', ')}${names.length > 3 ? ', … (consentctl sites list)' : ''}`
}

function fold(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase()
}
