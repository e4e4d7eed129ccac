import { makeFolder, syncFolder } from '../io/draft.ts'
import { cannotWrite, withLock } from './lock.ts'
import { type Config, own, type Profile, readConfig, readCredentials } from './store.ts'

/** Adds or replaces a profile and its key. The first profile becomes the default one. */
export async function saveProfile(
  folder: string,
  name: string,
  profile: Profile & { readonly base_url: string },
  apiKey: string,
): Promise<void> {
  await change(folder, write => {
    const config = readConfig(folder)
    const profiles = { ...config.profiles, [name]: { ...own(config.profiles, name), ...profile } }
    const credentials = readCredentials(folder, () => {})
    write('credentials', { ...credentials, [name]: { api_key: apiKey, base_url: profile.base_url } })
    write('config', { ...config, profile: config.profile ?? name, profiles })
  })
}

/** Changes config.json: from what is there at that moment to what `edit` makes of it. */
export async function changeConfig(folder: string, edit: (config: Config) => Config): Promise<void> {
  await change(folder, write => write('config', edit(readConfig(folder))))
}

/** Forgets a profile's key; false where there was none. */
export async function removeKey(folder: string, name: string): Promise<boolean> {
  if (
    !Object.hasOwn(
      readCredentials(folder, () => {}),
      name,
    )
  )
    return false
  return await change(folder, write => {
    const { [name]: removed, ...rest } = readCredentials(folder, () => {})
    if (removed) write('credentials', rest)
    return removed !== undefined
  })
}

/** Forgets a profile with its key. */
export async function removeProfile(folder: string, name: string): Promise<void> {
  await removeKey(folder, name)
  await changeConfig(folder, ({ profile, ...config }) => {
    const { [name]: _, ...profiles } = config.profiles
    return { ...config, ...(profile !== undefined && profile !== name && { profile }), profiles }
  })
}

type Write = (configName: 'config' | 'credentials', content: object) => void

/**
 * Reads and writes with nobody else writing in between. conf writes atomically and with these permissions; reading is
 * done without it, for it costs every start 50 ms. Throws a CliError where the folder cannot be written.
 */
async function change<T>(folder: string, work: (write: Write) => T): Promise<T> {
  const { Conf } = await import('./conf.ts')
  const options = { cwd: folder, projectSuffix: '', accessPropertiesByDotNotation: false }
  const write: Write = (configName, content) =>
    system(folder, () => {
      const file = new Conf<Record<string, unknown>>({ ...options, configName, configFileMode: 0o600 })
      file.store = { ...content }
    })
  await makeFolder(folder).catch(error => {
    throw cannotWrite(folder, error)
  })
  const result = await withLock(folder, () => work(write))
  await syncFolder(folder) // conf flushes the files it writes, and not the names that it gives them
  return result
}

function system(folder: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    throw cannotWrite(folder, error)
  }
}
