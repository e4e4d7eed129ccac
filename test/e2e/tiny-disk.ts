import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

const sizeKiB = 1024

/** A small file system for the test file, which takes root to make; null without one. */
export function useTinyDisk() {
  const place = mkdtempSync(join(tmpdir(), 'consentctl-tiny-'))
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeKiB}k`, 'tmpfs', place])
  if (status !== 0) {
    rmdirSync(place)
    process.stderr.write('\n*** SKIPPED: a full disk behind a file. Only root can mount a small one. ***\n\n')
    return null
  }
  afterAll(() => {
    spawnSync('umount', [place])
    rmdirSync(place)
  })
  const filler = join(place, 'filler')
  /** Leaves `free` KiB of the disk free. */
  const leave = (free: number) => writeFileSync(filler, Buffer.alloc((sizeKiB - 4 - free) * 1024))
  return { place, filler, leave }
}
