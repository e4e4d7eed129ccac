import type { Command } from 'commander'
import type { Context } from './context.ts'
import { shellNames } from './docs/completion/names.ts'

type Build = (command: Command, ctx: Context) => void

export interface Leaf {
  /** One line, without a full stop. */
  readonly summary: string
  readonly aliases: readonly string[]
  readonly load: () => Promise<Build>
}

interface Branch {
  readonly summary: string
  readonly aliases: readonly string[]
  readonly commands: Group
}

export type Group = Readonly<Record<string, Leaf | Branch>>

/** A module exports a command under its name in camel case. */
type ExportOf<Name extends string> = Name extends 'import' | 'export' // reserved words
  ? `${Name}Command`
  : Name extends `${infer Head}-${infer Tail}`
    ? `${Head}${Capitalize<Tail>}`
    : Name

type Line<Name extends string> = readonly [
  summary: string,
  load: () => Promise<{ readonly [Export in ExportOf<Name>]: Build }>,
  alias?: string,
]

type Lines<Names extends string> = { readonly [Name in Names]: Line<Name> | Leaf | Branch }

function commands<Names extends string>(lines: Lines<Names>): Group {
  const entries = Object.entries<Line<string> | Leaf | Branch>(lines)
  return Object.fromEntries(
    entries.map(([name, line]) => {
      if (!('length' in line)) return [name, line]
      const [summary, load, ...aliases] = line
      return [name, { summary, aliases, load: async () => (await load())[exportOf(name)] as Build }]
    }),
  )
}

function exportOf(name: string): string {
  if (name === 'import' || name === 'export') return `${name}Command`
  return name.replace(/-(\w)/, (_, letter: string) => letter.toUpperCase())
}

function group<Names extends string>(summary: string, lines: Lines<Names>): Branch {
  return { summary, aliases: [], commands: commands(lines) }
}

const shells = Object.fromEntries(
  shellNames.map((shell): [string, Leaf] => {
    const load = async () => (await import('./commands/completion/print.ts')).printer(shell)
    return [shell, { summary: `Print the ${shell} completion script`, aliases: [], load }]
  }),
)

/** To add a command, write its file and a line here. Help describes only the first commands of a long list. */
export const tree: Group = commands({
  create: ['Create a consent record, or many from a file', () => import('./commands/consents/create.ts')],
  import: ['Import records and their history from other tools', () => import('./commands/consents/import.ts')],
  list: ['List records, newest first', () => import('./commands/consents/list.ts'), 'ls'],
  get: ['Show records by id', () => import('./commands/consents/get.ts')],
  update: ['Change the acceptance or preferences of a record', () => import('./commands/consents/update.ts')],
  rm: ['Delete records and keep their history', () => import('./commands/consents/rm.ts'), 'delete'],
  restore: ['Restore deleted records that are not purged yet', () => import('./commands/consents/restore.ts')],
  history: ['Show the audit trail of records', () => import('./commands/consents/history.ts')],
  check: ['Check if a person, or each of a list, consents to a purpose', () => import('./commands/check/check.ts')],
  withdraw: ['Withdraw a purpose in all records of a person', () => import('./commands/subject/withdraw.ts')],
  watch: ['Follow what happens to records, as it happens', () => import('./commands/watch/watch.ts')],
  stats: ['Count records, persons and their answers', () => import('./commands/stats.ts')],
  subject: group('Find, export and erase the data of a person, with proof', {
    find: ['List all records of a person', () => import('./commands/subject/find.ts')],
    export: ['Export the records and history of a person to a file', () => import('./commands/subject/export.ts')],
    erase: ['Delete all records of a person and sign an erasure record', () => import('./commands/subject/erase.ts')],
    purge: [
      'Purge the records of an erasure now, and sign a record of it',
      () => import('./commands/subject/purge.ts'),
    ],
    resume: ['Resume an interrupted erasure or withdrawal', () => import('./commands/subject/resume.ts')],
    verify: [
      'Verify a record of an erasure or withdrawal, and what is there now',
      () => import('./commands/subject/verify.ts'),
    ],
    receipts: ['List erasure and withdrawal records, or print one', () => import('./commands/subject/receipts.ts')],
    keys: group('Show the key that signs erasure and withdrawal records', {
      show: ['Print the public key that verifies these records', () => import('./commands/subject/keys-show.ts')],
    }),
  }),
  requests: group('Manage the register of data subject requests', {
    list: ['List open requests, the most urgent first', () => import('./commands/requests/list.ts')],
    next: ['Show the request to answer now', () => import('./commands/requests/next.ts')],
    show: ['Show a request, or its history', () => import('./commands/requests/show.ts')],
    add: ['Add a request to the register', () => import('./commands/requests/add.ts')],
    update: ['Assign or correct an open request', () => import('./commands/requests/update.ts')],
    extend: ['Extend the period to answer a request by two months', () => import('./commands/requests/extend.ts')],
    close: ['Close a request and remove its identifiers', () => import('./commands/requests/close.ts')],
    report: ['Report how many requests were answered, and how fast', () => import('./commands/requests/report.ts')],
  }),
  hold: group('Keep the records of a person from retention, purge and erasure', {
    add: ['Add a legal hold', () => import('./commands/holds/add.ts')],
    list: ['List the legal holds that stand', () => import('./commands/holds/list.ts')],
    remove: ['Remove a legal hold before its end', () => import('./commands/holds/remove.ts')],
  }),
  receipt: ['Print the signed receipt of a record', () => import('./commands/consents/receipt.ts')],
  evidence: ['Write evidence of a record that verifies offline', () => import('./commands/evidence/evidence.ts')],
  verify: [
    'Verify receipts, other signed documents and evidence, also offline',
    () => import('./commands/verify/verify.ts'),
  ],
  sites: group('Manage sites', {
    list: ['List sites, newest first', () => import('./commands/sites/list.ts')],
    create: ['Create a site and its token', () => import('./commands/sites/create.ts')],
    update: ['Change the name, policy version, origins or rules of a site', () => import('./commands/sites/update.ts')],
    'rotate-token': ['Issue a new token for a site', () => import('./commands/sites/rotate-token.ts')],
    archive: ['Archive a site, or restore it', () => import('./commands/sites/archive.ts')],
    snippet: ['Print a script that records the choices of a banner', () => import('./commands/sites/snippet.ts')],
  }),
  notices: group('Publish and read the notices shown to people', {
    list: ['List the notices of a site, newest version first', () => import('./commands/notices/list.ts')],
    show: ['Print a text of a notice, exactly as it was published', () => import('./commands/notices/show.ts')],
    publish: ['Publish the texts of a policy version', () => import('./commands/notices/publish.ts')],
    diff: ['Compare the texts of two versions', () => import('./commands/notices/diff.ts')],
    who: ['List who agreed to a policy version but to no newer one', () => import('./commands/notices/who.ts')],
  }),
  keys: group('Manage API keys', {
    list: ['List API keys, newest first', () => import('./commands/keys/list.ts')],
    create: ['Create an API key', () => import('./commands/keys/create.ts')],
    revoke: ['Revoke API keys', () => import('./commands/keys/revoke.ts')],
  }),
  webhooks: group('Send events to other programs, signed', {
    list: ['List webhooks, newest first', () => import('./commands/webhooks/show.ts')],
    show: ['Show a webhook and its last attempts', () => import('./commands/webhooks/show.ts')],
    create: ['Create a webhook', () => import('./commands/webhooks/create.ts')],
    update: ['Change, pause or resume a webhook', () => import('./commands/webhooks/update.ts')],
    'rotate-secret': ['Issue a new secret for a webhook', () => import('./commands/webhooks/create.ts')],
    test: ['Send a test to a webhook', () => import('./commands/webhooks/test.ts')],
    rewind: ['Send events to a webhook again', () => import('./commands/webhooks/rewind.ts')],
    rm: ['Remove a webhook', () => import('./commands/webhooks/rewind.ts')],
    listen: ['Forward events to this machine, for development', () => import('./commands/webhooks/listen.ts')],
  }),
  audit: group('See who changed which setting, and who read what of whom', {
    list: ['List the changes of settings, newest first', () => import('./commands/audit/list.ts')],
    reads: ['List who read what of which person, newest first', () => import('./commands/audit/reads.ts')],
  }),
  usage: ['Show the usage of the monthly quota', () => import('./commands/usage.ts')],
  auth: group('Store, check and remove API keys', {
    login: ['Store an API key in a profile, or create one', () => import('./commands/auth/login.ts')],
    logout: ['Remove the stored key of a profile', () => import('./commands/auth/logout.ts')],
    token: ['Print the API key in use, for scripts', () => import('./commands/auth/token.ts')],
    status: ['Show which key is used and whether it is valid', () => import('./commands/auth/status.ts')],
  }),
  config: group('Show and change settings', {
    list: ['List every setting and its source', () => import('./commands/config/list.ts')],
    get: ['Print the value of one setting', () => import('./commands/config/get.ts')],
    set: ['Change a setting of a profile', () => import('./commands/config/set.ts')],
    unset: ['Remove a setting from a profile', () => import('./commands/config/unset.ts')],
    path: ['Show where settings and state are stored', () => import('./commands/config/path.ts')],
    profiles: ['List profiles (stored instances)', () => import('./commands/config/profiles.ts')],
    remove: ['Remove a profile and its key', () => import('./commands/config/remove.ts')],
  }),
  doctor: ['Check settings, instance and key, and suggest fixes', () => import('./commands/doctor/doctor.ts')],
  serve: ['Run the server', () => import('./commands/serve.ts')],
  admin: group('Manage the database of a server', {
    account: group('Manage accounts', {
      create: [
        'Create an account with an owner, a site and an API key',
        () => import('./commands/admin/account-create.ts'),
      ],
      list: ['List accounts with their quotas and usage', () => import('./commands/admin/account-quota.ts')],
      quota: ['Change the monthly quota of an account', () => import('./commands/admin/account-quota.ts')],
    }),
    verify: ['Verify every record, its history and the log', () => import('./commands/admin/verify.ts')],
    checkpoint: ['Write a signed checkpoint of the log to a file', () => import('./commands/admin/checkpoint.ts')],
    'signing-key': group('Manage the keys that the server signs with', {
      revoke: ['Revoke a signing key', () => import('./commands/admin/signing-key.ts')],
      restart: [
        'Introduce a new signing key after the loss of the newest',
        () => import('./commands/admin/signing-key.ts'),
      ],
    }),
    user: group('Manage users', {
      add: ['Add a user with a role to an account', () => import('./commands/admin/users.ts')],
      list: ['List users with their roles', () => import('./commands/admin/users.ts')],
      remove: ['Remove a user from an account', () => import('./commands/admin/users.ts')],
      password: ['Reset a user’s password', () => import('./commands/admin/user-password.ts')],
    }),
    purge: ['Purge personal data of deleted records', () => import('./commands/admin/purge.ts')],
    grants: [
      'Print the SQL for a database role that cannot change history',
      () => import('./commands/admin/grants.ts'),
    ],
    export: ['Export the whole database to a file', () => import('./commands/admin/export.ts')],
    import: ['Import an export into an empty database', () => import('./commands/admin/import.ts')],
  }),
  completion: group('Set up shell completion', {
    ...shells,
    install: ['Install the completion script for your shell', () => import('./commands/completion/install.ts')],
    values: [
      'Print values from local files for the completion scripts',
      () => import('./commands/completion/values.ts'),
    ],
  }),
  help: ['Show help on a command or a topic', () => import('./commands/help.ts')],
  commands: ['List every command, with flags and examples', () => import('./commands/commands.ts')],
})
