import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { View } from '../../../src/output/index.ts'
import { json, ndjson } from '../../../src/output/json.ts'
import { answers, byId, consent, listOf, useCli } from '../support.ts'

const cli = useCli()
const view: View<unknown> = { columns: [], id: String }
const options = { single: false, columns: 80, color: true, header: true }

const pages = fc.array(fc.array(fc.jsonValue({ stringUnit: 'binary', maxDepth: 2 }), { maxLength: 3 }), {
  maxLength: 4,
})

it('json prints one array of all rows, for any pages', () => {
  fc.assert(
    fc.property(pages, rows => {
      const renderer = json(view, options)
      const text = renderer.begin() + rows.map(page => renderer.rows(page)).join('') + renderer.end()
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(rows.flat())))
      expect(text.endsWith('\n')).toBe(true)
    }),
  )
})

it('ndjson prints one row per line, complete with each page, for any pages', () => {
  fc.assert(
    fc.property(pages, rows => {
      const renderer = ndjson(view, options)
      for (const page of rows) {
        const lines = renderer.rows(page).split('\n')
        expect(lines.pop()).toBe('')
        expect(lines.map(line => JSON.parse(line))).toEqual(JSON.parse(JSON.stringify(page)))
      }
      expect(renderer.begin() + renderer.end()).toBe('')
    }),
  )
})

it('one id prints an object; several ids and those of standard input print an array', async () => {
  cli.instance.use(answers('get', byId, consent()))
  expect(JSON.parse((await cli.run(['get', '7', '--json'])).stdout)).toEqual(consent())
  expect(JSON.parse((await cli.run(['get', '7', '8', '--json'])).stdout)).toEqual([consent(), consent()])
  expect(JSON.parse((await cli.run(['get', '-', '--json'], { stdin: '7\n' })).stdout)).toEqual([consent()])
})

it.each(['json', 'ndjson'])('%s is never coloured', async format => {
  cli.instance.use(listOf(2))
  const { stdout } = await cli.run(['list', '-o', format, '--color', 'always'], { tty: { stdout: true } })
  expect(stdout).not.toContain('\u001b')
})
