import { writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { fieldsOf, useForeignFiles } from './foreign-files.ts'
import { foreignLists } from './foreign-lists.ts'

const { cli, keeping, write, importFile, initMap } = useForeignFiles()

describe('create --file with an edited map from --map-out', () => {
  it.each(foreignLists)(
    'imports $name, and the output of list creates the same records',
    async ({ content, extension, flags = [], edit, records }) => {
      const sent = keeping()
      const file = write(content, extension)
      const { path, map } = await initMap(file, ...flags)
      edit?.(map)
      writeFileSync(path, JSON.stringify(map))
      const imported = await importFile(file, '--map', path, ...flags)
      expect(imported, imported.stderr).toMatchObject({ code: 0 })
      expect(fieldsOf(sent)).toEqual(records)

      const columns = 'consent_id,subject_id,accepted,preferences,policy_version,user_agent'
      const listed = write((await cli.run(['list', '-o', 'csv', '--columns', columns])).stdout)
      const before = sent.length
      expect(await importFile(listed, '--csv-unguard')).toMatchObject({ code: 0 })
      const again = fieldsOf(sent).slice(before)
      const shown = records.map(({ ip_address, ...fields }) => ({ policy_version: 1, preferences: {}, ...fields }))
      expect(again).toEqual(shown)
    },
  )
})
