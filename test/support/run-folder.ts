import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const watchdog = fileURLToPath(new URL('run-watchdog.js', import.meta.url))

/**
 * Makes the folder of temporary files of a test run, and names it in TMPDIR for all that the run starts. When the run ends,
 * even if it is interrupted or killed, the folder is removed and so is every process that names it.
 */
export function useRunFolder(): void {
  const folder = mkdtempSync('/tmp/consentctl-run-') // short, because the path of a Unix socket has 107 bytes at most
  chmodSync(folder, 0o711) // PostgreSQL runs as another user if the tests run as root
  const child = spawn(process.execPath, [watchdog, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()
  process.env['TMPDIR'] = folder
}

/** Returns a folder in memory, where there is such a file system; it is removed with the run's own. */
export function memoryFolder(): string {
  const folder = existsSync('/dev/shm') ? join('/dev/shm', basename(tmpdir())) : tmpdir()
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}
