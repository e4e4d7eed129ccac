import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BrowserContext, chromium } from 'playwright-core'
import { close, listen } from './net.ts'

/** A Chromium on PATH; undefined where there is none. */
export const browserPath = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap(folder => ['chromium', 'chromium-browser', 'google-chrome'].map(name => join(folder, name)))
  .find(isExecutable)

if (!browserPath) {
  if (process.env['CI']) throw new Error('CI needs a real browser: install chromium')
  process.stderr.write('\n*** SKIPPED: the banner in a real browser. There is no Chromium on PATH. ***\n\n')
}

export interface Browser {
  /** Its cookies and pages; all that it opens shares them. */
  readonly context: BrowserContext
  close(): Promise<void>
}

interface BrowserOptions {
  readonly args?: readonly string[]
  /** Of the profile, as Chromium stores them. */
  readonly preferences?: object
}

/** Starts the browser without a window, on an empty profile that is removed with it. */
export async function openBrowser({ args = [], preferences = {} }: BrowserOptions = {}): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), 'consentctl-browser-'))
  mkdirSync(join(profile, 'Default'))
  writeFileSync(join(profile, 'Default', 'Preferences'), JSON.stringify(preferences))
  const remove = () => rmSync(profile, { recursive: true, force: true, maxRetries: 10 })
  try {
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: browserPath ?? '',
      args: ['--disable-gpu', '--disable-quic', ...args], // Playwright adds those that keep a browser quiet
      env: { PATH: process.env['PATH'] ?? '', HOME: profile },
    })
    context.setDefaultTimeout(5000)
    const close = async () => {
      await context.close()
      remove()
    }
    return { context, close }
  } catch (error) {
    remove()
    throw error
  }
}

export interface Shop {
  readonly origin: string
  close(): Promise<void>
}

/** Serves the page of test/fixtures/banner, for a service and with a site's token, on a free port of a host. */
export async function serveShop(
  host: string,
  { service, token }: { readonly service: string; readonly token: string },
): Promise<Shop> {
  const read = (name: string) =>
    readFileSync(fileURLToPath(new URL(`../fixtures/banner/${name}`, import.meta.url)), 'utf8')
  const page = () =>
    read('index.html').replace('https://consent.example.com', service).replace('st-YOUR-SITE-TOKEN', token)
  const files: Record<string, () => [type: string, text: string]> = {
    '/': () => ['text/html', page()],
    '/banner.js': () => ['text/javascript', read('banner.js')],
  }
  const server = createServer(({ url = '' }, response) => {
    const [type, text] = files[url]?.() ?? ['text/plain', '']
    response.writeHead(url in files ? 200 : 404, { 'content-type': type }).end(text)
  })
  return { origin: await listen(server, host), close: () => close(server) }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
