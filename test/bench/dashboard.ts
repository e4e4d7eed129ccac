import { browserPath, openBrowser } from '../support/browser.ts'
import type { Bench } from './bench.ts'
import { median, type Row } from './numbers.ts'
import { serveProgram } from './processes.ts'
import { binary, openDatabase } from './stage.ts'

const mostPaintMs = 300

/** How soon the dashboard is there. */
export async function* dashboard({ pairs, undo }: Bench): AsyncGenerator<Row> {
  if (!browserPath) return
  const { url, remove } = await openDatabase()
  undo(remove)
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent', DATABASE_URL: url }
  const served = await serveProgram([binary, 'serve'], env)
  undo(served.stop)
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
