import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { formatNames } from '../../../src/output/index.ts'
import { expectExit, listOf, useCli } from '../support.ts'

const cli = useCli()

/** A stream that accepts this number of writes, and then has no room. */
function full(writes: number): Writable {
  let left = writes
  return new Writable({
    write: (_chunk, _encoding, callback) => {
      left -= 1
      callback(left < 0 ? Object.assign(new Error('no space left'), { code: 'ENOSPC' }) : null)
    },
  })
}

describe.each([...formatNames])('%s on a full disk', format => {
  it.each([0, 1])('exits with 1 and says so, after %i written pages', async writes => {
    cli.instance.use(listOf(300))
    const ran = await cli.run(['list', '-o', format], { stdout: full(writes) })
    expectExit(ran, 1, 'cannot write the output: no space left')
    expect(cli.sent().length).toBeLessThan(4)
  })
})
