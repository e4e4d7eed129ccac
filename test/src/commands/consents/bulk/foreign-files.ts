import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { expect } from 'vitest'
import { useFolder } from '../../../../support/cli.ts'
import { consent, consentsPath, site, useCli, uuid } from '../../../support.ts'

export type Record = { [name: string]: unknown }

/** As `--map-out` writes it. */
export interface MapFile {
  fields: { [field: string]: string | null }
  values: { [word: string]: 'yes' | 'no' | null }
}

export const noUsage = http.get('*/api/v1/usage', () =>
  HttpResponse.json({ error: 'not_found', message: 'no' }, { status: 404 }),
)

export const fieldsOf = (records: readonly Record[]) => records.map(({ site_id, ...fields }) => fields)

/** Imports files that other programs wrote, into an instance that keeps them. */
export function useForeignFiles() {
  const cli = useCli()
  const folder = useFolder()
  let files = 0

  /** An instance that keeps what it is sent and lists it, oldest first. */
  function keeping() {
    const records: Record[] = []
    cli.instance.use(
      http.post(consentsPath, async ({ request }) => {
        const body = (await request.json()) as Record
        if (body['subject_id'] === 'rejected')
          return HttpResponse.json({ error: 'conflict', message: 'no' }, { status: 409 })
        records.push(body)
        return HttpResponse.json(consent({ id: uuid(records.length) }), { status: 201 })
      }),
      noUsage,
      http.get(consentsPath, () => {
        const data = records.map((record, index) => ({
          ...consent({ id: uuid(index), consent_id: null, preferences: {}, user_agent: null, policy_version: 1 }),
          accepted: false,
          ...record,
        }))
        return HttpResponse.json({ data, next_cursor: null })
      }),
    )
    return records
  }

  function write(content: string | Uint8Array, extension = 'csv'): string {
    const path = join(folder.path, `${++files}.${extension}`)
    writeFileSync(path, content)
    return path
  }

  const importFile = (file: string, ...flags: string[]) =>
    cli.run(['create', '--file', file, '--site', site, '--concurrency', '1', ...flags])

  async function initMap(file: string, ...flags: string[]) {
    const path = join(folder.path, `${++files}.json`)
    const ran = await cli.run(['create', '--file', file, '--map-out', path, ...flags])
    expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: '' })
    return { ...ran, path, map: JSON.parse(readFileSync(path, 'utf8')) as MapFile }
  }

  return { cli, folder, keeping, write, importFile, initMap }
}
