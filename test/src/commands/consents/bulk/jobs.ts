import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { useFolder } from '../../../../support/cli.ts'
import { ndjson, useCli } from '../../../support.ts'

/** A result of a line, as `-o ndjson` prints it. */
export interface Row {
  readonly line: number
  readonly result: string
  readonly id: string | null
  readonly error_code: string | null
  readonly message: string | null
}

/** A command line whose jobs and failed lines are gone after each test. */
export function useJobs() {
  const cli = useCli()
  const folder = useFolder()
  const jobs = () => join(cli.env()['CONSENTCTL_STATE_DIR'] ?? '', 'jobs')
  const failedOut = () => join(folder.path, 'failed')
  afterEach(() => {
    rmSync(jobs(), { recursive: true, force: true })
    rmSync(failedOut(), { force: true })
  })

  async function create(args: readonly string[], stdin?: string | Uint8Array) {
    const ran = await cli.run(['create', '-o', 'ndjson', ...args], stdin === undefined ? {} : { stdin })
    return { ...ran, rows: ndjson<Row>(ran.stdout) }
  }

  return { cli, folder, jobs: () => readdirSync(jobs()), jobsFolder: jobs, failedOut, create }
}
