// Pictures of every screen of the dashboard, at three widths, light and dark: npm run pictures -- FOLDER [SCREEN …]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const [out, ...only] = process.argv.slice(2)
if (!out) throw new Error('name the folder to put them into')
mkdirSync(out, { recursive: true })
const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'consentctl-pictures-'))
const port = 18787
const url = `http://127.0.0.1:${port}`
const email = 'privacy@example.com'
const env = {
  PATH: process.env.PATH,
  HOME: folder,
  CONSENTCTL_DATA_DIR: join(folder, 'data'),
  PORT: String(port),
  LOG_LEVEL: 'error',
  WEBHOOK_ALLOW: '127.0.0.1',
  CHECKPOINT_MINUTES: '1', // the newest records are counted at a checkpoint
}

async function consentctl(args, more = {}) {
  const child = spawn(process.execPath, [join(root, 'bin/consentctl.cjs'), ...args], {
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`)
  return stdout
}

/** A client of the API with a session. */
async function signIn(password) {
  const send = () =>
    fetch(`${url}/api/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    })
  let answer = await send()
  while (answer.status === 503) answer = await send() // a busy machine derives keys slowly
  const [cookie] = answer.headers.getSetCookie()[0].split(';')
  return async (method, path, body, type = 'application/json') => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method,
      headers: { cookie, origin: url, 'content-type': type },
      body: typeof body === 'string' ? body : body && JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
    return response.status === 204 ? null : await response.json()
  }
}

const purposes = [
  { key: 'marketing', title: 'News and offers by e-mail', language: 'en', iri: 'https://w3id.org/dpv#DirectMarketing' },
  { key: 'analytics', title: 'Statistics on how the shop is used', language: 'en' },
]

const policy = rest => `Privacy notice of Example Shop

We ask for your consent to the following.

1. News and offers by e-mail. You can withdraw at any time, by a link in each message.
2. Statistics on how the shop is used. ${rest}

Example Shop Ltd., privacy@example.com
`

/** What a shop has after a while. */
async function fill({ site, api_key: key }, password) {
  const call = await signIn(password)
  for (const name of ['Newsletter', 'App for phones']) {
    await call('POST', 'sites', { name, allowed_origins: [`https://${name.split(' ')[0].toLowerCase()}.example.com`] })
  }
  await call('PATCH', `sites/${site.id}`, {
    allowed_origins: ['https://shop.example.com'],
    retention: { period: 'P3Y', after: 'withdrawal' },
  })
  for (const [version, rest] of [
    [1, 'They are kept for one year.'],
    [2, 'They are kept for six months, and nobody else gets them.'],
  ]) {
    const controller = 'Example Shop Ltd., privacy@example.com'
    await call('PUT', `sites/${site.id}/notices/${version}`, { purposes, controller, valid_for: 'P1Y' })
    await call('PUT', `sites/${site.id}/notices/${version}/texts/en`, policy(rest), 'text/plain')
    await call('POST', `sites/${site.id}/notices/${version}/publish`, {})
  }
  await call('PATCH', `sites/${site.id}`, { policy_version: 2 })
  for (const [name, scopes] of [
    ['Shop backend', ['read', 'write']],
    ['Nightly export', ['read']],
    ['Import of the old tool', ['write', 'import']],
  ]) {
    await call('POST', 'keys', { name, scopes, expires_at: '2030-12-31T23:59:59.999Z' })
  }
  const [, old] = (await call('GET', 'keys')).data
  await call('DELETE', `keys/${old.id}`, undefined)
  for (const [ticket, kind, days] of [
    ['DSR-6', 'erasure', 40],
    ['DSR-7', 'access', 25],
    ['DSR-8', 'objection', 2],
  ]) {
    const received_on = new Date(Date.now() - days * 24 * 60 * 60 * 1000).toISOString().slice(0, 10)
    await call('POST', 'requests', {
      ticket,
      kind,
      subject_ids: ['maria@example.com'],
      received_on,
      assignee: 'privacy team',
    })
  }
  for (const [path, settings] of [
    ['consents', {}],
    ['failing?token=secret', { types: ['withdrawn', 'erased', 'account.site_updated'] }],
  ]) {
    await call('POST', 'webhooks', { url: `http://127.0.0.1:${port + 1}/${path}`, ...settings })
  }
  const more = { CONSENTCTL_BASE_URL: url, CONSENTCTL_API_KEY: key, CONSENTCTL_SITE: site.id }
  await consentctl(['create', '--file', join(root, 'test/fixtures/consents.ndjson'), '-q'], more)
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'
  const maria = ['--subject', 'maria@example.com', '--user-agent', agent, '--notice-locale', 'en', '-q']
  const id = await consentctl(
    [
      'create',
      ...maria,
      '--accepted',
      '--consent-id',
      'newsletter',
      '--pref',
      'marketing=true',
      '--pref',
      'analytics=false',
    ],
    more,
  )
  await consentctl(['update', id.trim(), '--pref', 'analytics=true', '-q'], more)
  await consentctl(['update', id.trim(), '--refused', '--pref', 'marketing=false', '-q'], more)
  for (let wait = 0; wait < 60 && !(await call('GET', 'stats')).complete; wait += 1) await delay(2000)
  return id.trim()
}

async function openPage(browser, password) {
  await browser.newPage()
  const page = browser.pages().at(-1)
  await page.goto(url)
  await page.screenshot({ path: join(out, 'sign-in-1280-light.png') })
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor({ state: 'detached' })
  return page
}

async function openWebhook(page) {
  await page.getByRole('link', { name: '/consents' }).click()
  await page.getByRole('heading', { level: 2, name: 'Last attempts' }).waitFor()
}

/** What to do on a screen to see more of it. */
const steps = {
  notice: [
    'notices',
    async page => {
      await page.getByLabel('Site').selectOption({ label: 'Shop' })
      await page.locator('main a[href^="#/notices"]').first().click()
      await page.getByRole('heading', { level: 1, name: 'Notices', exact: true }).waitFor({ state: 'detached' })
    },
  ],
  site: ['sites', page => page.getByRole('link', { name: 'Shop', exact: true }).click()],
  'person-found': [
    'person',
    async page => {
      await page.getByLabel('Identifiers of one person').fill('maria@example.com')
      await page.getByRole('button', { name: 'Find' }).click()
      await page.getByText('newsletter').first().waitFor()
    },
  ],
  'keys-create': ['keys', page => page.getByRole('button', { name: 'Create a key' }).click()],
  'keys-revoke': ['keys', page => page.getByRole('button', { name: 'Revoke Shop backend' }).click()],
  'webhooks-create': ['webhooks', page => page.getByRole('button', { name: 'Create a webhook' }).click()],
  webhook: ['webhooks', openWebhook],
  'webhook-rewind': [
    'webhooks',
    async page => {
      await openWebhook(page)
      await page.getByRole('button', { name: 'Rewind …' }).click()
    },
  ],
  'request-close': [
    'requests',
    async page => {
      await page.getByRole('link', { name: 'DSR-6' }).click()
      await page.getByRole('button', { name: 'Close …' }).click()
    },
  ],
  'audit-entry': ['audit', page => page.getByRole('button', { name: 'Show entry' }).nth(6).click()],
}

async function takeAll(page, recordId) {
  const links = page.getByRole('navigation', { name: 'Screens' }).getByRole('link')
  const paths = await links.evaluateAll(list => list.map(link => link.getAttribute('href').slice(2)))
  const screens = [
    ...paths.map(path => [path, path, async () => {}]),
    ['record', `records/${recordId}`, async () => {}],
    ...Object.entries(steps).map(([name, [path, step]]) => [name, path, step]),
  ].filter(([name]) => only.length === 0 || only.includes(name))
  for (const width of [360, 1280, 1920]) {
    for (const colorScheme of ['light', 'dark']) {
      await page.setViewportSize({ width, height: width === 360 ? 760 : 800 })
      await page.emulateMedia({ colorScheme })
      for (const [name, path, step] of screens) {
        await page.goto('about:blank')
        await page.goto(`${url}/#/${path}`)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await page.getByText('Loading …').first().waitFor({ state: 'detached' })
        await step(page)
        await delay(100)
        await page.screenshot({ path: join(out, `${name}-${width}-${colorScheme}.png`), fullPage: width === 360 })
      }
    }
  }
}

const account = JSON.parse(
  await consentctl([
    'admin',
    'account',
    'create',
    '--email',
    email,
    '--site',
    'Shop',
    '--json',
    '--monthly-quota',
    '20000',
  ]),
)
const receiver = createServer(({ url }, response) => response.writeHead(url === '/consents' ? 204 : 500).end())
receiver.listen(port + 1, '127.0.0.1')
const server = spawn(process.execPath, [join(root, 'bin/consentctl.cjs'), 'serve'], { env, stdio: 'inherit' })
try {
  while (!(await fetch(`${url}/ready`).catch(() => null))?.ok) await delay(100)
  const recordId = await fill(account, account.user.password)
  const browser = await chromium.launchPersistentContext(join(folder, 'profile'), {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--disable-gpu'],
  })
  await takeAll(await openPage(browser, account.user.password), recordId)
  await browser.close()
} finally {
  receiver.close()
  receiver.closeAllConnections()
  server.kill('SIGTERM')
  if (server.exitCode === null) await once(server, 'close')
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
