import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import packageJson from '../../../package.json' with { type: 'json' }
import { formatCount } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import { exit } from '../../errors/errors.ts'
import { configFolder, stateFolder } from '../../settings/folders.ts'
import {
  configFile,
  credentialsFile,
  isOpenToOthers,
  readConfig,
  readCredentials,
} from '../../settings/store.ts'
import { type Checked, fail, ok, skip, tried, warn } from './check.ts'

/** What can be said without the instance. The permissions come first: reading the keys mends them. */
export async function checkHere(ctx: Context): Promise<Checked[]> {
  const folder = configFolder(ctx.host.env, ctx.host.platform)?.value
  return [
    ok('version', `consentctl ${packageJson.version}, node ${ctx.host.version}`),
    ...(folder
      ? [
          await tried('config', () => checkConfig(folder)),
          await tried('credentials', () => checkCredentials(folder)),
        ]
      : [skip('config', 'there is no home folder, so the environment alone counts')]),
    await tried('state', () => checkState(ctx)),
    checkTerminal(ctx),
  ]
}

function checkConfig(folder: string): Checked {
  const file = configFile(folder)
  const names = Object.keys(readConfig(folder).profiles)
  if (!existsSync(file)) return ok('config', `${file} is not there, and need not be`)
  if (!isWritable(folder)) return warn('config', `${folder} cannot be written`, 'see who owns it')
  return ok('config', `${file}: ${formatCount(names.length, 'profile')}`)
}

function checkCredentials(folder: string): Checked {
  const file = credentialsFile(folder)
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats) return ok('credentials', `${file} is not there: no key is stored`)
  let mended = ''
  const count = Object.keys(readCredentials(folder, message => (mended = message))).length
  if (isOpenToOthers(stats.mode) || mended)
    return warn(
      'credentials',
      mended || `${file} was open to others`,
      'revoke keys that others may have read',
    )
  return ok('credentials', `${file}: ${formatCount(count, 'key')}, for you alone`)
}

function checkState({ host: { env, platform } }: Context): Checked {
  const folder = stateFolder(env, platform).value
  let nearest = folder
  while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest)
  if (isWritable(nearest))
    return ok('state', nearest === folder ? folder : `${folder} is made when it is needed`)
  return fail(
    'state',
    exit.failure,
    `${nearest} cannot be written`,
    'CONSENTCTL_STATE_DIR names another folder',
  )
}

/** Whom TLS trusts beside the usual authorities. */
export function checkAuthorities({ settings, host: { env } }: Context): Checked {
  const file = settings.caFile ?? {
    value: env['NODE_EXTRA_CA_CERTS'] ?? '',
    source: 'NODE_EXTRA_CA_CERTS',
  }
  if (file.value === '') return skip('ca_file', 'none but the usual authorities are trusted')
  const count = readPem(file.value)
  if (count > 0) return ok('ca_file', `${file.value} (${file.source}): ${formatCount(count, 'certificate')}`)
  return fail(
    'ca_file',
    exit.usage,
    `${file.value} (${file.source}) holds no certificate`,
    'name a file in PEM',
  )
}

/** How many certificates a file holds; none where it cannot be read. */
function readPem(file: string): number {
  try {
    return readFileSync(file, 'utf8').split('-----BEGIN CERTIFICATE-----').length - 1
  } catch {
    return 0
  }
}

function checkTerminal({ io: { stdin, out, err }, host: { env } }: Context): Checked {
  const streams = [
    `stdin ${stdin.isTTY ? 'is' : 'is not'} a terminal`,
    `stdout ${out.isTerminal ? `is one of ${out.columns} columns` : 'is not'}`,
    `stderr ${err.isTerminal ? 'is' : 'is not'}`,
  ].join(', ')
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  const detail = `${streams}; ${out.color ? 'colour' : 'no colour'}; locale ${locale || 'not set'}`
  if (!out.isTerminal || locale === '' || /utf-?8/i.test(locale)) return ok('terminal', detail)
  return warn('terminal', detail, 'a locale of UTF-8 shows every name as it is: LANG=C.UTF-8')
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
