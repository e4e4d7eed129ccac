import { expect, it } from 'vitest'
import { consent, listOf, useCli, uuid } from '../support.ts'

const cli = useCli()

const fields = [
  'id',
  'site_id',
  'consent_id',
  'subject_id',
  'country',
  'region',
  'user_agent',
  'accepted',
  'preferences',
  'policy_version',
  'created_at',
  'updated_at',
  'deleted_at',
]

it('TSV has no header, and every field in full in the order of the specification', async () => {
  const record = consent({
    user_agent: 'x'.repeat(500),
    preferences: { a: 'é', b: [1, null] },
    country: null,
  })
  cli.instance.use(listOf(2, () => record))
  const { stdout } = await cli.run(['list'], { columns: 40 })
  const values = fields.map(field => {
    const value = record[field as keyof typeof record]
    return value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
  })
  expect(stdout).toBe(`${values.join('\t')}\n`.repeat(2))
})

it('--header prints the field names first, even for an empty list', async () => {
  cli.instance.use(listOf(1))
  const { stdout } = await cli.run(['list', '--header'])
  expect(stdout.split('\n')[0]).toBe(fields.join('\t'))
  cli.instance.use(listOf(0))
  expect((await cli.run(['list', '--header'])).stdout).toBe(`${fields.join('\t')}\n`)
})

it('--header is printed once for several pages', async () => {
  cli.instance.use(listOf(250))
  const lines = (await cli.run(['list', '--header'])).stdout.split('\n')
  expect(lines).toHaveLength(252)
  expect(lines.filter(line => line.startsWith('id\t'))).toHaveLength(1)
})

it.each([['-q'], ['--quiet'], ['-o id'], ['-q -o json'], ['--json -q']])('prints one id per line: %s', async flags => {
  cli.instance.use(listOf(3))
  expect((await cli.run(['list', ...flags.split(' ')])).stdout).toBe(`${uuid(0)}\n${uuid(1)}\n${uuid(2)}\n`)
})
