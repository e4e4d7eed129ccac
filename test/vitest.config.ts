import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { whereIsPostgres } from './support/cluster.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** SQL files as their text, as the build has them. */
const sqlText = {
  name: 'sql-text',
  transform: (code: string, id: string) =>
    id.endsWith('.sql') ? `export default ${JSON.stringify(code)}` : null,
}

/** What is about the embedded database alone. */
const aboutPGlite = ['test/server/db/{power,restart,shared}.test.ts']

/** What has every answer come in time: it runs after all others and by itself, for two of them share the machine's processors. */
const timed = ['test/e2e/{failover,faults,outage}.test.ts']

/** What asks no database, or starts its own: once is enough. */
const aboutNone = [
  'test/server/{background-jobs,config,ids}.test.ts',
  'test/server/auth/{password,ttl-cache}.test.ts',
  'test/server/db/{batching,lock,retry}.test.ts',
  'test/server/db/postgres-pool/*.test.ts',
  'test/server/net/geo.test.ts',
  'test/server/http/{cursor,json,limits,query}.test.ts',
  'test/server/openapi/{answers,document,requests}.test.ts',
]

const server = { include: ['test/server/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000 }

/** The server's tests run on the embedded database for everyone, and on a real PostgreSQL wherever one is found. */
function engines() {
  const embedded = {
    extends: true as const,
    test: { ...server, name: 'server on PGlite', env: { TEST_ENGINE: 'embedded' }, exclude: [] as string[] },
  }
  if (whereIsPostgres()) {
    embedded.test.exclude = aboutNone
    const postgres = {
      name: 'server on PostgreSQL',
      env: { TEST_ENGINE: 'postgres' },
      exclude: [...aboutPGlite],
    }
    return [embedded, { extends: true as const, test: { ...server, ...postgres } }]
  }
  if (process.env['CI'])
    throw new Error('CI needs a real PostgreSQL: install its server, or set TEST_DATABASE_URL')
  process.stderr.write(
    '\n*** SKIPPED: the server on a real PostgreSQL. No initdb found and no TEST_DATABASE_URL. ***\n\n',
  )
  return [embedded]
}

export default defineConfig({
  root,
  plugins: [sqlText],
  test: {
    // What looks at the command line alone needs no database to copy.
    globalSetup: process.env['TEST_ENGINE'] === 'none' ? [] : 'test/support/global-setup.ts',
    pool: 'forks',
    isolate: false, // to load the program anew for each file takes as long as a third of the tests
    maxWorkers: 2, // much of the suite waits: for servers, clocks and databases
    projects: [
      {
        extends: true,
        test: { name: 'client', include: ['test/src/**/*.test.ts', 'test/*.test.ts'], testTimeout: 20_000 },
      },
      ...engines(),
      {
        extends: true,
        test: {
          name: 'end to end',
          isolate: true, // much of it measures time, which nobody else in the process must take
          include: ['test/e2e/**/*.test.ts'],
          exclude: timed,
          maxWorkers: 3, // half of it waits: for processes to start, to be killed, and to end
          sequence: { groupOrder: 1 },
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'end to end, timed',
          isolate: true,
          include: timed,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
