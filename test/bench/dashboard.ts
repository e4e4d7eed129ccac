import { readFileSync } from 'node:fs'
import { request } from 'undici'
import { browserPath, openBrowser } from '../support/browser.ts'
import type { Bench } from './bench.ts'
import { alternate, median, type Row } from './numbers.ts'
import { type Env, type Served, serveProgram } from './processes.ts'
import { binary, openDatabase } from './stage.ts'

const mostBytes = 60_000
const mostPaintMs = 300
const html = { accept: 'text/html' }

/** What the dashboard weighs, how soon it is there, and what it costs the service while no browser asks for it. */
export async function* dashboard({ pairs, undo }: Bench): AsyncGenerator<Row> {
  const { url, remove } = await openDatabase()
  undo(remove)
  const serve = async (setting: 'on' | 'off') => {
    const env: Env = { PATH: process.env['PATH'], HOME: '/nonexistent', DATABASE_URL: url, DASHBOARD: setting }
    return await serveProgram([binary, 'serve'], env)
  }
  const memories = { on: [] as number[], off: [] as number[] }
  const start = async (setting: 'on' | 'off') => {
    const served = await serve(setting)
    const cpu = served.cpu()
    memories[setting].push(residentMemory(served))
    await served.stop()
    return cpu
  }
  await start('on') // makes the tables
  memories.on = []
  const starts = await alternate(
    pairs,
    () => start('on'),
    () => start('off'),
  )
  yield { group: 'dashboard', name: 'start, CPU: on, and off', unit: 'ms', ...starts, bound: { most: 1.05 } }
  const held = { ours: memories.on, bare: memories.off }
  yield { group: 'dashboard', name: 'memory: on, and off', unit: 'MiB', ...held, bound: { most: 1.05 } }

  const served = await serve('on')
  undo(served.stop)
  const before = residentMemory(served)
  const sizes = await readPage(served.url)
  const all = sizes.reduce((sum, size) => sum + size, 0)
  const after = { ours: [residentMemory(served)], bare: [before] }
  yield { group: 'dashboard', name: 'memory: after a browser asked, and before', unit: 'MiB', ...after }
  const weight = { ours: [all / 1000], bare: [mostBytes / 1000], notes: 'gzip, and at most', isOver: all > mostBytes }
  yield { group: 'dashboard', name: 'size of the page', unit: 'kB', ...weight }
  if (!browserPath) return
  const browser = await openBrowser()
  undo(browser.close)
  const paints: number[] = []
  for (let round = 0; round < 2 * pairs + 1; round += 1) {
    const page = await browser.context.newPage()
    await page.goto(served.url)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    const first = `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN`
    paints.push(await page.evaluate<number>(first))
    await page.close()
  }
  const paint = median(paints)
  const notes = `${Math.min(...paints).toFixed(0)} to ${Math.max(...paints).toFixed(0)}, and at most`
  yield {
    group: 'dashboard',
    name: 'first paint',
    unit: 'ms',
    ours: [paint],
    bare: [mostPaintMs],
    notes,
    isOver: !(paint <= mostPaintMs),
  }
}

/** MiB. */
function residentMemory({ pid }: Served): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) / 1024
}

/** Returns the size of each file as it is sent. */
async function readPage(url: string): Promise<number[]> {
  const plain = await request(url, { headers: html })
  const paths = [...(await plain.body.text()).matchAll(/(?:src|href)="(dashboard\/[^"]+)"/g)].map(
    ([, path = '']) => `/${path}`,
  )
  const sizes = ['/', ...paths].map(async path => {
    const { body } = await request(url + path, { headers: { ...html, 'accept-encoding': 'gzip' } })
    return (await body.arrayBuffer()).byteLength
  })
  return await Promise.all(sizes)
}
