import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import packageJson from '../../../package.json' with { type: 'json' }
import { type Checked, fail, ok, skip, tried, warn } from '../../cli/checks.ts'
import { formatCount } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import { exit } from '../../errors/errors.ts'
import { configFolder, stateFolder } from '../../settings/folders.ts'
import { configFile, credentialsFile, isOpenToOthers, readConfig, readCredentials } from '../../settings/store.ts'

export async function checkHere(ctx: Context): Promise<Checked[]> {
  const folder = configFolder(ctx.host.env, ctx.host.platform)?.value
  return [
    ok('version', `consentctl ${packageJson.version}, node ${ctx.host.version}`),
    ...(folder
      ? [await tried('config', () => checkConfig(folder)), await tried('credentials', () => checkCredentials(folder))]
      : [skip('config', 'no home folder: only the environment is used')]),
    await tried('state', () => checkState(ctx)),
    checkTerminal(ctx),
  ]
}

function checkConfig(folder: string): Checked {
  const file = configFile(folder)
  const names = Object.keys(readConfig(folder).profiles)
  if (!existsSync(file)) return ok('config', `${file} does not exist, which is fine`)
  if (!isWritable(folder)) return warn('config', `cannot write to ${folder}`, 'check its owner')
  return ok('config', `${file}: ${formatCount(names.length, 'profile')}`)
}

function checkCredentials(folder: string): Checked {
  const file = credentialsFile(folder)
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats) return ok('credentials', `${file} does not exist: no key is stored`)
  let warning = ''
  const count = Object.keys(readCredentials(folder, message => (warning = message))).length
  if (isOpenToOthers(stats.mode) || warning)
    return warn('credentials', warning || `${file} was open to others`, 'revoke keys that others may have read')
  return ok('credentials', `${file}: ${formatCount(count, 'key')}, readable only by you`)
}

function checkState({ host: { env, platform } }: Context): Checked {
  const folder = stateFolder(env, platform).value
  let nearest = folder
  while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest)
  if (isWritable(nearest)) return ok('state', nearest === folder ? folder : `${folder} will be created when needed`)
  return fail('state', exit.failure, `cannot write to ${nearest}`, 'set CONSENTCTL_STATE_DIR to another folder')
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
  return warn('terminal', detail, 'use a UTF-8 locale, such as LANG=C.UTF-8, to show all names')
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
