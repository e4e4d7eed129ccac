import { fileURLToPath } from 'node:url'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { hasCitus } from './support/citus.ts'
import { Failures } from './support/failures.ts'
import { findPrograms } from './support/postgres.ts'

/*
 * The tiers (README.md):
 *   npm test           client, server, smoke
 *   npm run test:all   slow, embedded, cluster, end to end, timed; and what test/all.js runs besides
 */

const root = fileURLToPath(new URL('..', import.meta.url))
const hasPostgres = Boolean(process.env['TEST_DATABASE_URL'] || findPrograms())
const failures = process.env['CONSENTCTL_TEST_FAILURES']
const engine = hasPostgres ? 'postgres' : 'embedded'

if (!hasPostgres && process.env['CI'])
  throw new Error('CI needs a real PostgreSQL: install its server, or set TEST_DATABASE_URL')
if (!hasPostgres)
  process.stderr.write(
    '\n*** SKIPPED: the server on a real PostgreSQL. No initdb found and no TEST_DATABASE_URL. ***\n\n',
  )

/** Files that do not fit into the minutes of `npm test`: many cases, real key derivation, or waits by the clock. */
const slow = ['test/**/*.slow.test.ts']

/** Files of the server's tests by their names below test/server, slow or not. */
const ofServer = (...names: string[]) => names.map(name => `test/server/${name}{,.slow}.test.ts`)

/** About a tenth of the server's tests, again on the embedded engine: statements of every kind, and what is about it alone. */
const embedded = ofServer(
  'audit/entries',
  'consents/{create-many,history,idempotency,update}',
  'db/{migrate,power,restart,schema,shared}',
  'documents/documents',
  'events/events',
  'evidence/{backdating,log,proofs}',
  'purge/canary',
  'quota/quota',
  'requests/requests',
  'stats/counts',
  'subjects/{check,erase,purge,purge-certificate}',
  'verify/verify',
  'webhooks/deliveries',
)

/** On a Citus cluster: what is about it alone, and the server's tests with statements of every kind. */
const onCitus = [
  'test/cluster/*.test.ts',
  ...ofServer(
    'audit/{entries,list}',
    'consents/{create-many,get,history,idempotency,imports,list,receipt,remove,restore,update}',
    'db/{accounts,grants,migrate,routing,schema}',
    'documents/documents',
    'events/events',
    'evidence/{log,pack,proofs}',
    'keys/{create,revoke}',
    'sites/*',
    'notices/notices',
    'quota/quota',
    'requests/requests',
    'session/{get,remove}',
    'stats/stats',
    'subjects/*',
    'transfer/transfer',
    'verify/verify',
    'webhooks/{deliveries,webhooks}',
  ),
]

/** Only if the project is named, because a run of some files by their names would start a cluster for them, too. */
const isClusterNamed = process.argv.some(arg => /^(--project=)?cluster$/.test(arg))
if (isClusterNamed && !hasCitus())
  process.stderr.write(
    '\n*** SKIPPED: the server on a Citus cluster. PostgreSQL at hand has no Citus (test/README.md). ***\n\n',
  )

/** Files about the embedded engine alone, which run in the project `embedded`. */
const embeddedOnly = ['test/server/db/{power,restart,shared}.slow.test.ts']

/** End-to-end files that `npm test` runs: the built executable, its service and its exit codes. */
const smoke = ['test/e2e/smoke.test.ts']

/** Files whose responses must arrive in time: they run after all others and one by one. */
const timed = ['test/e2e/{deploy,failover,faults,outage}.test.ts']

/** Files that take longest. They start first, so that none of them runs alone at the end. */
const longest = [
  'e2e/smoke',
  'e2e/quickstart',
  'simulation/simulation.slow',
  'server/db/power.slow',
  'server/http/property.slow',
  'server/db/restart.slow',
  'e2e/kill',
  'e2e/purge-kill',
  'e2e/transfer',
  'e2e/power-cut',
  'e2e/erase-kill',
  'e2e/canary',
  'e2e/browser',
  'e2e/receipt',
  'e2e/verify',
  'e2e/start',
].map(name => `${root}test/${name}.test.ts`)

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification) => longest.includes(moduleId)
    return [...sorted.filter(isLong), ...sorted.filter(file => !isLong(file))]
  }
}

const serverTimeouts = { testTimeout: 60_000, hookTimeout: 60_000 }
/** One group, so that no worker waits for the last file of another part. */
const untimed = { maxWorkers: 3, sequence: { groupOrder: 2 } }
const endToEnd = { testTimeout: 120_000, hookTimeout: 60_000 }

function project(
  name: string,
  test: TestProjectInlineConfiguration['test'] & { include: string[] },
): TestProjectInlineConfiguration {
  return { extends: true, test: { name, env: { TEST_ENGINE: engine }, ...test } }
}

export default defineConfig({
  root,
  plugins: [
    {
      name: 'text', // files of SQL and Markdown are their text, as in the build
      transform: (code, id) => (/\.(sql|md)$/.test(id) ? `export default ${JSON.stringify(code)}` : null),
    },
  ],
  test: {
    reporters: failures ? ['default', new Failures(failures)] : ['default'],
    // Tests of the command line alone need no database to copy.
    globalSetup: process.env['TEST_ENGINE'] === 'none' ? [] : 'test/support/global-setup.ts',
    pool: 'forks',
    isolate: false, // loading the program anew for each file takes as long as a third of the tests
    sequence: { sequencer: LongestFirst },
    maxWorkers: 3, // much of the suite waits: for servers, clocks and databases
    projects: [
      project('client', {
        include: ['test/src/**/*.test.ts', 'test/*.test.ts'],
        exclude: slow,
        testTimeout: 20_000,
      }),
      project('server', {
        include: ['test/server/**/*.test.ts'],
        exclude: [...slow, ...(hasPostgres ? embeddedOnly : [])],
        ...serverTimeouts,
      }),
      project('smoke', { include: smoke, ...endToEnd }),
      project('slow', {
        include: slow,
        exclude: hasPostgres ? embeddedOnly : [],
        ...untimed,
        ...serverTimeouts,
      }),
      project('embedded', {
        include: hasPostgres ? embedded : [],
        env: { TEST_ENGINE: 'embedded' },
        ...untimed,
        ...serverTimeouts,
      }),
      project('cluster', {
        include: isClusterNamed && hasCitus() ? onCitus : [],
        env: { TEST_ENGINE: 'citus' },
        ...untimed,
        ...serverTimeouts,
      }),
      project('end to end', {
        include: ['test/e2e/**/*.test.ts'],
        exclude: [...smoke, ...timed],
        ...untimed,
        ...endToEnd,
      }),
      // The heap of an earlier file would be in the times of a later one.
      project('timed', { include: timed, isolate: true, maxWorkers: 1, sequence: { groupOrder: 3 }, ...endToEnd }),
    ],
  },
})
