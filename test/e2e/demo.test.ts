import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { useFolder } from '../support/cli.ts'

const folder = useFolder()
const demo = fileURLToPath(new URL('../demo.js', import.meta.url))

it('npm run demo › runs from a thousand records to an erasure, exits, and leaves no files behind', async () => {
  const temporary = mkdtempSync(join(folder.path, 't'))
  const env = {
    PATH: process.env['PATH'],
    HOME: folder.path,
    TMPDIR: temporary,
    HTTP_PROXY: 'http://127.0.0.1:9',
  }
  const { stdout } = await promisify(execFile)(process.execPath, [demo], { env })
  expect(stdout).toContain('created 1000 records on local@')
  expect(stdout).toMatch(/created +yes .*\n.*withdrawn +no .*\n/)
  expect(stdout).toMatch(/deleted +no .*api_key/)
  const isWide = (line: string) => line.length > 80 && !/^ /.test(line) && line.includes(' ')
  expect(stdout.split('\n').filter(isWide)).toEqual([])
  expect(stdout).toContain(`export CONSENTCTL_CONFIG_DIR=${join(temporary, 'consentctl-demo-')}`)
  expect(readdirSync(temporary)).toEqual([])
  expect(readdirSync(folder.path)).toEqual([temporary.slice(folder.path.length + 1)])
})
