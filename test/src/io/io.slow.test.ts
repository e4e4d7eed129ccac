import { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { listOf, useCli } from '../support.ts'

const cli = useCli()

describe('a list is written as it arrives', () => {
  /** A slow stdout that records the number of requests before each write. */
  function slow(milliseconds = 0) {
    const writes: { readonly bytes: number; readonly requests: number }[] = []
    const stdout = new Writable({
      highWaterMark: 1,
      write: async (chunk: Buffer, _encoding, callback) => {
        writes.push({ bytes: chunk.length, requests: cli.sent().length })
        if (milliseconds) await delay(milliseconds)
        callback()
      },
    })
    return { writes, stdout }
  }

  it.each(['ndjson', 'json', 'tsv', 'id', 'table'])(
    '%s: prints each page immediately, and requests at most one page ahead',
    async format => {
      cli.instance.use(listOf(500))
      const { writes, stdout } = slow(5)
      expect(await cli.run(['list', '--all', '-o', format], { stdout })).toMatchObject({ code: 0 })
      const pages = writes.filter(({ bytes }) => bytes > 1000)
      expect(pages).toHaveLength(5)
      for (const [before, { requests }] of pages.entries()) {
        expect(requests).toBeGreaterThan(before)
        expect(requests).toBeLessThanOrEqual(before + 2)
      }
    },
  )

  it('with --concurrency 1, holds at most one of 500 pages', async () => {
    cli.instance.use(listOf(50_000))
    const { writes, stdout } = slow()
    const { code, stderr } = await cli.run(['list', '-o', 'ndjson', '--concurrency', '1'], { stdout })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(writes).toHaveLength(500)
    expect(writes[0]?.requests).toBe(1)
    expect(Math.max(...writes.map(({ bytes }) => bytes))).toBeLessThan(100_000)
    expect(writes.every(({ requests }, index) => requests === index + 1)).toBe(true)
  })
})
