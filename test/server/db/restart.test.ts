import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startEmbedded } from '../../../server/db/embedded.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync('/tmp/consentctl-db-')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A thread that notes its start, and does as it is told. */
function worker(script: string): URL {
  const file = join(folder, 'worker.mjs')
  const note = `import { appendFileSync } from 'node:fs'
    import { parentPort } from 'node:worker_threads'
    appendFileSync(${JSON.stringify(join(folder, 'starts'))}, '.')
    parentPort.once('message', () => parentPort.close())\n`
  writeFileSync(file, note + script)
  return pathToFileURL(file)
}

const starts = () => readFileSync(join(folder, 'starts'), 'utf8').length

it('starts the database again when its thread ends by itself, until it is closed', async () => {
  const workerFile = worker(`parentPort.postMessage('ready'); setTimeout(() => process.exit(1), 20)`)
  const database = await startEmbedded(folder, { workerFile })
  await vi.waitFor(() => expect(starts()).toBeGreaterThan(3), { timeout: 5000 })
  await database.close()
  const atClose = starts()
  await new Promise(resolve => setTimeout(resolve, 300))
  expect(starts()).toBe(atClose)
})

it('says why a database cannot be opened, and gives the folder back', async () => {
  const workerFile = worker(`throw new Error('the disk is full')`)
  const onWait = vi.fn()
  await expect(startEmbedded(folder, { workerFile, onWait })).rejects.toThrow(
    /cannot be opened: the disk is full/,
  )
  expect(onWait).toHaveBeenLastCalledWith(null)
  const again = await startEmbedded(folder, { workerFile: worker(`parentPort.postMessage('ready')`) })
  await again.close()
})

it('refuses a folder whose path is too long for a Unix socket', async () => {
  const long = join(folder, 'x'.repeat(100))
  await expect(startEmbedded(long, { workerFile: worker('') })).rejects.toThrow(/too long for a Unix socket/)
})
