import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { type PageOf, Rows } from '../../../server/dashboard/page/parts/rows.ts'
import { browserPath } from '../../support/browser.ts'
import { rejectionAt, useDashboard } from '../../support/dashboard.ts'
import { newImporter } from '../consents/imports.ts'
import { publishNotice } from '../consents/notices.ts'

/** Rows that are scrolled through. */
const rowCount = Number(process.env['CONSENTCTL_TEST_ROWS'] ?? 300)

describe.skipIf(!browserPath)('the dashboard › records', () => {
  const dashboard = useDashboard()
  const { service } = dashboard

  async function press(...keys: string[]): Promise<void> {
    for (const key of keys) await dashboard.page.keyboard.press(key)
  }

  const text = (selector: string) => dashboard.page.locator(selector).innerText()
  const button = (name: string) => dashboard.page.getByRole('button', { name })
  const command = async () =>
    (await dashboard.page.locator('.command code').last().innerText()).replace('consentctl ', '')

  it('changes, deletes and restores a record by keyboard alone, and the service has what the page says', async () => {
    const owner = await newImporter(service)
    const subject_id = 'maria@example.com'
    const preferences = { marketing: true, 'über uns': 'none' }
    const { id } = await owner.create({ subject_id, accepted: true, preferences })
    const page = await dashboard.open(owner, `records/${id}`)

    await button('Change …').focus()
    await press('Enter', 'n', 'Tab', 'f', 'Tab')
    await page.keyboard.type('9007199254740993')
    await press('Enter')
    expect(await page.getByRole('alert').innerText()).toContain('would be kept as 9007199254740992')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('none')
    await owner.update(id, { preferences: { ...preferences, profiling: true } }) // by a colleague meanwhile
    expect(await text('dialog .command code')).toBe(`consentctl update ${id} --refused --pref marketing=false`)
    await press('Enter')
    await page.getByText('Changed.').waitFor()
    expect((await owner.get(id)).body).toMatchObject({
      accepted: false,
      preferences: { marketing: false, 'über uns': 'none', profiling: true },
    })
    await expect
      .poll(() => text('.timeline > li:last-child'))
      .toMatch(
        /^updated .* by \S+@example.com\n\naccepted: yes → no\nmarketing: true → false\n.*consent: given → withdrawn\n/s,
      )

    await button('Delete …').focus()
    await press('Enter')
    await page.getByText(`${id}, subject ${subject_id}`).waitFor()
    await dashboard.expectAccessible()
    await press('Enter')
    await page.getByText('Deleted.').waitFor()
    expect((await owner.get(id)).status).toBe(404)

    await service.call('POST', '/api/v1/subjects/erase', { key: owner.key, body: { subject_id } })
    await button('Restore …').waitFor()
    await press('Tab', 'Enter', 'Tab', 'Enter')
    await page.getByText('An erasure request covers this record.').waitFor()
    expect((await owner.get(id)).status).toBe(404)
    await press('Shift+Tab', 'Space', 'Tab', 'Enter')
    await page.getByText('Restored.').waitFor()
    expect((await owner.get(id)).body).toMatchObject({ id, deleted_at: null })
    await page.getByText('restored despite an erasure request').waitFor()
  })

  it('tells what a record was at a moment, of an import as its importer told it, and downloads the receipt byte for byte', async () => {
    const importer = await newImporter(service)
    const id = await importer.importOne({
      changes: [{ given_at: '2022-01-01T00:00:00Z', accepted: false, preferences: { marketing: false } }],
    })
    const page = await dashboard.open(importer, `records/${id}`)
    expect(await text('dl')).toContain('usercentrics')
    expect(await text('.timeline')).toContain(
      'The person answered at 2021-03-04 05:06:07 UTC, as reported by the importer.',
    )

    await page.getByLabel('Time (UTC)').fill('2021-06-01T10:00')
    await press('Enter')
    expect(await text('.moment')).toMatch(
      /2021-06-01 10:00:59 UTC, as reported by the importer.*imported from usercentrics.*marketing: true/s,
    )
    expect(await command()).toBe(`get ${id} --at 2021-06-01T10:00:59.999Z --include-deleted`)
    await page.getByLabel('Time (UTC)').fill('2020-06-01T10:00')
    await press('Enter')
    expect(await text('.moment')).toBe(
      'No record at 2020-06-01 10:00:59 UTC: its first answer is of 2021-03-04T05:06:07.891Z',
    )
    await page.getByLabel('Time (UTC)').fill('2999-06-01T10:00')
    await press('Enter')
    expect(await page.getByRole('alert').innerText()).toBe('That is in the future.')
    await page.locator('.timeline').getByRole('button').nth(1).click()
    expect(await text('.moment')).toContain('marketing: false')
    await dashboard.expectAccessible()

    const receipt = page.waitForResponse(/\/receipt$/)
    const { name, bytes } = await dashboard.download(() => button('Download the receipt').click())
    expect([name, bytes]).toEqual([`receipt-${id}.json`, await (await receipt).body()])

    await importer.create({ subject_id: 'max@example.com ', accepted: true })
    await page.getByRole('link', { name: 'Records', exact: true }).click()
    const cells = async (name: string) =>
      await page
        .getByRole('row', { name })
        .getByRole('cell')
        .filter({ has: page.locator('time') })
        .innerText()
    expect(await cells('subject of')).toBe('2022-01-01 00:00:00 UTC\nanswered, as imported')
    expect(await cells('max@example.com\\u{20}')).toMatch(/^20\S+ \S+ UTC$/)
  })

  it('shows what a purge left, says of an id that there is no record, and offers a reader no change', async () => {
    const owner = await newImporter(service)
    await publishNotice(service, owner, { version: 1, languages: ['de'], validFor: 'P1Y' })
    const draft = { subject_id: 'max@example.com', accepted: true, preferences: { ads: true }, notice_locale: 'de' }
    const { id } = await owner.create(draft)
    await service.sql`update users set role = 'reader' where id = ${owner.userId}`
    const page = await dashboard.open(owner, `records/${id}`)
    expect(await page.locator('main').getByRole('button', { name: '…' }).count()).toBe(0)
    const details = await text('dl')
    expect(details).toMatch(/valid for P1Y, shown in de/)
    expect(await page.getByRole('link', { name: 'version 1' }).getAttribute('href')).toBe(`#/notices/${owner.siteId}/1`)
    expect(details).toMatch(/Valid until\n20\d\d-/)

    await owner.remove(id)
    await service.call('POST', '/api/v1/subjects/purge', { key: owner.key, body: { ids: [id] } })
    await page.reload()
    await page.getByText('its preferences, and whose it was, are gone').waitFor()
    expect(await text('main')).not.toMatch(/max@example.com|ads/)

    await dashboard.open(owner, 'records/01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11')
    expect(await dashboard.page.getByRole('alert').innerText()).toContain('has no record with the id')
  })

  it('lists with the filters of the command, none of them in the address, and comes back to them from a record', async () => {
    const owner = await newImporter(service)
    const kept = await owner.create({ subject_id: 'maria@example.com', consent_id: 'cookies', accepted: true })
    await owner.create({ subject_id: 'maria@example.com', accepted: false })
    const { id } = await owner.create({ accepted: true })
    const page = await dashboard.open(owner, 'usage')
    const refused = { error: 'forbidden', message: 'The key must have the scope read.' }
    await page.route('**/stats/count*', route => route.fulfill({ status: 403, json: refused }), { times: 1 })
    await page.getByRole('link', { name: 'Records' }).click()
    await page.getByText('The number is not known.').waitFor()
    await button('Count again').click()
    await page.getByText('3 records').waitFor()
    await page.getByRole('link', { name: `none (${id})` }).waitFor()
    await page.getByLabel('Accepted').focus()
    await press('y', 'Shift+Tab')
    await page.keyboard.type('maria@example.com')
    await press('Enter')
    await page.getByText('1 record', { exact: true }).waitFor()
    expect(await command()).toBe('list --subject maria@example.com --accepted')
    await page.getByRole('link', { name: 'maria@example.com' }).press('Enter')
    await page.getByRole('heading', { name: 'Record', exact: true }).waitFor()
    expect(page.url()).toBe(`${service.url}/#/records/${kept.id}`)
    await page.goBack()
    await page.getByText('1 record', { exact: true }).waitFor()
    expect(await page.getByLabel('Subject').inputValue()).toBe('maria@example.com')
    expect(page.url()).toBe(`${service.url}/#/records`)

    await page.getByText('More filters').click()
    await dashboard.expectAccessible()
    await page.getByLabel('Created until (UTC)').fill('2020-01-31')
    await page.getByLabel('Created from (UTC)').fill('2020-02-01')
    await button('Show').click()
    await page.getByText('Created from (UTC): must not be after Created until (UTC)').waitFor()
    expect(await rejectionAt(page, 'Created from (UTC)')).toBe('must not be after Created until (UTC)')
    await page.getByLabel('Created from (UTC)').fill('')
    await button('Show').click()
    await page.getByText('No records.').waitFor()
    await page.getByLabel('Validity').selectOption('30d')
    await button('Show').click()
    expect(await command()).toBe('list --expiring 30d')
    expect(dashboard.requests.filter(each => !each.startsWith('GET '))).toEqual([])
  })

  it(`scrolls ${rowCount} rows to the end and back, of which those in view are elements`, async () => {
    const owner = await newImporter(service)
    const rows = Array.from({ length: rowCount }, (_, index) => ({
      ...{ site_id: owner.siteId, subject_id: `person-${index}`, accepted: index % 3 === 0 },
      preferences: { marketing: true, analytics: false },
    }))
    for (let from = 0; from < rowCount; from += 1000)
      await owner.send('POST', '/batch', { body: { records: rows.slice(from, from + 1000) } })
    const page = await dashboard.open(owner, 'records')
    const table = page.getByRole('table', { name: 'Records' })
    await page.getByText(`person-${rowCount - 1}`).waitFor()
    await page.getByText(`${new Intl.NumberFormat('en').format(rowCount)} records`).waitFor()
    expect(await table.getAttribute('aria-rowcount')).toBe(String(rowCount + 1))

    const { result, tasks } = await traced(page, () => page.evaluate<Scroll>(scrollToEnd))
    expect(result.elements).toBeLessThan(60)
    expect(Math.max(...tasks)).toBeLessThanOrEqual(50)
    if (process.env['CONSENTCTL_TEST_ROWS']) {
      const slowest = result.frames
        .sort((one, other) => other - one)
        .slice(0, 3)
        .map(Math.round)
      process.stdout.write(`${result.frames.length} frames, the slowest of ${slowest.join(', ')} ms; `)
      process.stdout.write(`the longest task took ${Math.round(Math.max(...tasks))} ms of CPU\n`)
    }
    const last = page.getByRole('row').last()
    expect([await last.getAttribute('aria-rowindex'), await last.innerText()]).toEqual([
      String(rowCount + 1),
      expect.stringContaining('person-0'),
    ])

    await page.getByRole('link', { name: 'person-0', exact: true }).focus()
    await press('ArrowUp')
    expect(await text(':focus')).toBe('person-1')
    await press('Home')
    await expect.poll(() => text(':focus')).toBe(`person-${rowCount - 1}`)
    await page.setViewportSize({ width: 360, height: 700 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  })
})

/** Also returns the CPU milliseconds of each task of the page's main thread: other programs change nothing about them. */
async function traced<T>(page: Page, run: () => Promise<T>): Promise<{ result: T; tasks: number[] }> {
  const session = await page.context().newCDPSession(page)
  const tasks: number[] = []
  const ended = new Promise(resolve => session.once('Tracing.tracingComplete', resolve))
  session.on('Tracing.dataCollected', ({ value }) => {
    for (const event of value as { name?: string; tdur?: number }[])
      if (event.name === 'RunTask' || event.name === 'ThreadControllerImpl::RunTask')
        tasks.push((event.tdur ?? 0) / 1000)
  })
  await session.send('Tracing.start', {
    traceConfig: { includedCategories: ['disabled-by-default-devtools.timeline', 'toplevel'] },
  })
  const result = await run()
  await session.send('Tracing.end')
  await ended
  return { result, tasks }
}

interface Scroll {
  /** Milliseconds between them. */
  readonly frames: number[]
  /** The most rows at once. */
  readonly elements: number
}

/** Scrolls a little with each frame, until nothing more comes. */
const scrollToEnd = `(async () => {
  const table = document.querySelector('.rows')
  const frames = []
  let [elements, idle, before] = [0, 0, await new Promise(requestAnimationFrame)]
  while (idle < 10) {
    const { scrollTop } = table
    table.scrollTop += 400
    idle = table.scrollTop === scrollTop ? idle + 1 : 0
    const now = await new Promise(requestAnimationFrame)
    frames.push(now - before)
    before = now
    elements = Math.max(elements, table.querySelectorAll('.row').length)
  }
  return { frames, elements }
})()`

describe('rows of a long list', () => {
  const wait = () => new Promise(resolve => setTimeout(resolve))

  /** A list of the numbers below `count`, downwards, ten a page; a cursor is the last number. */
  function open(count: number) {
    const list = { numbers: Array.from({ length: count }, (_, index) => count - 1 - index), reads: [] as string[] }
    const rows = new Rows<number>(async (cursor): Promise<PageOf<number>> => {
      list.reads.push(cursor ?? 'start')
      const left = list.numbers.filter(number => cursor === undefined || number < Number(cursor))
      const data = left.slice(0, 10)
      return { data, next_cursor: left.length > 10 ? String(data.at(-1)) : null }
    })
    const look = async (first: number, last = first) => {
      rows.look(first, last)
      await wait()
    }
    const all = () => Array.from({ length: rows.length }, (_, index) => rows.row(index))
    return { list, rows, look, all }
  }

  it('are read as they are looked at, and some before', async () => {
    const { rows, look, all, list } = open(95)
    await look(0, 9)
    expect([rows.length, rows.isComplete]).toEqual([60, false])
    await look(90)
    expect([rows.length, rows.isComplete]).toEqual([95, true])
    expect(all()).toEqual(list.numbers)
    expect(list.reads).toHaveLength(10)
  })

  it('are dropped when they are far away, and read again by their cursor', async () => {
    const { rows, look, list } = open(5000)
    for (let at = 0; at < 4000; at += 50) await look(at)
    expect([rows.row(0), rows.row(2900), rows.row(3100)]).toEqual([undefined, undefined, 1899])
    list.reads.length = 0
    await look(1000, 1005)
    expect([rows.row(1003), rows.length >= 4000]).toEqual([3996, true])
    expect(list.reads).toEqual(['4000'])
  })

  it('are each there once after rows before them went or came', async () => {
    const { rows, look, all, list } = open(300)
    await look(200)
    list.numbers = list.numbers.filter(number => number % 7 > 0)
    list.numbers.unshift(301, 300)
    rows.refresh()
    for (const at of [150, 100, 50, 0, 40, 90, 140, 190, 240]) await look(at, at + 20)
    expect(rows.isComplete).toBe(true)
    const shown = all()
    expect(new Set(shown).size).toBe(shown.length)
    expect(shown).toEqual(list.numbers)
  })

  it('stop at an error until it is tried again', async () => {
    let isBroken = true
    const rows = new Rows<number>(async () => {
      if (isBroken) throw new Error('no answer')
      return { data: [1], next_cursor: null }
    })
    rows.look(0, 5)
    await wait()
    rows.look(0, 6)
    expect(rows.error).toEqual(new Error('no answer'))
    isBroken = false
    rows.retry()
    await wait()
    expect([rows.error, rows.row(0)]).toEqual([undefined, 1])
  })
})
