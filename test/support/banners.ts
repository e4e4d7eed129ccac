import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Page } from 'playwright-core'
import { type BannerName, scriptElement } from '../../src/domain/snippets.ts'
import { close, listen } from './net.ts'

type Choice = Readonly<Record<string, boolean>>

/** A page that shows the banner of a package, and its visitor. */
export interface Banner {
  /** Loads the package from /node_modules and sets it up as its documentation says. */
  readonly html: string
  /** What the page has when the banner has loaded all of its files, if it goes on to load some after the page. */
  readonly ready?: string
  /** Each is a choice of a visitor to whom the banner is shown, or shown again. */
  readonly accept: (page: Page) => Promise<unknown>
  readonly refuse: (page: Page) => Promise<unknown>
  /** From everything to a part of it. */
  readonly change?: (page: Page) => Promise<unknown>
  readonly withdraw: (page: Page) => Promise<unknown>
  /** An expression by which the page has the banner forget the choice, if it tells the snippet so. */
  readonly reset?: string
  /** An expression for whether the banner is shown, and for the answer that it keeps. */
  readonly state: string
  readonly preferences: { readonly all: Choice; readonly none: Choice; readonly part?: Choice }
}

const click = (page: Page, selector: string) => page.locator(selector).click()

/** An expression for the value of a cookie. */
const cookie = (name: string) => `document.cookie.match(/(?:^|; )${name}=([^;]*)/)?.[1]`

const optional = { all: { analytics: true, marketing: true }, none: { analytics: false, marketing: false } }
const withNecessary = (name: string) => ({
  all: { [name]: true, ...optional.all },
  none: { [name]: true, ...optional.none },
  part: { [name]: true, analytics: true, marketing: false },
})

/** Consent to the first purposes of TCF, and to no special feature. */
function tcfChoice(given: number): Choice {
  const purposes = Array.from({ length: 11 }, (_, index) => [`purpose-${index + 1}`, index < given])
  return { ...Object.fromEntries(purposes), 'special-feature-1': false, 'special-feature-2': false }
}

const cookieconsent: Banner = {
  html: `
    <button type="button" data-cc="show-preferencesModal" id="settings">Cookies</button>
    <script src="/node_modules/vanilla-cookieconsent/dist/cookieconsent.umd.js"></script>
    <script>
      CookieConsent.run({
        hideFromBots: false,
        categories: { necessary: { readOnly: true, enabled: true }, analytics: {}, marketing: {} },
        language: { default: 'en', translations: { en: {
          consentModal: { title: 'Cookies', acceptAllBtn: 'Accept', acceptNecessaryBtn: 'Refuse' },
          preferencesModal: {
            acceptAllBtn: 'Accept', acceptNecessaryBtn: 'Refuse', savePreferencesBtn: 'Save',
            sections: [
              { title: 'Analytics', linkedCategory: 'analytics' }, { title: 'Marketing', linkedCategory: 'marketing' },
            ],
          },
        } } },
      })
    </script>`,
  accept: page => click(page, '#cc-main .cm [data-role=all]'),
  refuse: page => click(page, '#cc-main .cm [data-role=necessary]'),
  change: async page => {
    await click(page, '#settings')
    await page.locator('#cc-main .pm input[value=marketing]').dispatchEvent('click') // its label covers it
    await click(page, '#cc-main .pm [data-role=save]')
  },
  withdraw: async page => {
    await click(page, '#settings')
    await click(page, '#cc-main .pm [data-role=necessary]')
  },
  state: `[document.documentElement.classList.contains('show--consent'),
    CookieConsent.getCookie('categories'), CookieConsent.getCookie('services')]`,
  preferences: withNecessary('necessary'),
}

export const banners: Record<BannerName, Banner> = {
  cookieconsent,
  klaro: {
    html: `
      <script>
        var klaroConfig = {
          acceptAll: true,
          groupByPurpose: false,
          translations: { zz: { privacyPolicyUrl: '/privacy' } },
          services: [
            { name: 'session', required: true, purposes: ['shop'] },
            { name: 'analytics', purposes: ['statistics'] },
            { name: 'marketing', purposes: ['advertising'] },
          ],
        }
      </script>
      <script defer src="/node_modules/klaro/dist/klaro.js"></script>
      <button type="button" onclick="klaro.show()" id="settings">Cookies</button>`,
    accept: page => click(page, '#klaro .cookie-notice .cm-btn-success'),
    refuse: page => click(page, '#klaro .cookie-notice .cn-decline'),
    change: async page => {
      await click(page, '#settings')
      await click(page, 'label[for=service-item-marketing]')
      await click(page, '#klaro .cookie-modal .cm-btn-accept')
    },
    withdraw: async page => {
      await click(page, '#settings')
      for (const name of ['analytics', 'marketing'])
        if (await page.locator(`#service-item-${name}`).isChecked())
          await click(page, `label[for=service-item-${name}]`)
      await click(page, '#klaro .cookie-modal .cm-btn-accept')
    },
    reset: 'klaro.getManager().resetConsents()',
    state: `[document.querySelector('#klaro .cookie-notice')?.checkVisibility() ?? false, ${cookie('klaro')}]`,
    preferences: withNecessary('session'),
  },
  osano: {
    html: `
      <script src="/node_modules/cookieconsent/build/cookieconsent.min.js"></script>
      <script>cookieconsent.initialise({ type: 'opt-in', revokable: true, animateRevokable: false })</script>`,
    accept: page => click(page, '.cc-window .cc-allow'),
    refuse: page => click(page, '.cc-window .cc-deny'),
    withdraw: async page => {
      await click(page, '.cc-revoke')
      await click(page, '.cc-window .cc-deny')
    },
    state: `[!(document.querySelector('.cc-window')?.classList.contains('cc-invisible') ?? true), ${cookie('cookieconsent_status')}]`,
    preferences: { all: { cookies: true }, none: { cookies: false } },
  },
  tarteaucitron: {
    html: `
      <script src="/node_modules/tarteaucitronjs/tarteaucitron.js"></script>
      <script>
        tarteaucitron.init({ useExternalCss: true, removeCredit: true, orientation: 'bottom' })
        tarteaucitron.events.load = () => document.body.classList.add('ready') // its buttons do nothing before
        window.addEventListener('tac.root_available', () => {
          for (const key of ['analytics', 'marketing']) {
            tarteaucitron.services[key] = {
              key, type: key === 'analytics' ? 'analytic' : 'ads', name: key, needConsent: true, cookies: [], js() {}, fallback() {},
            }
          }
        })
        tarteaucitron.job = ['analytics', 'marketing']
      </script>`,
    ready: '.ready',
    accept: page => click(page, '#tarteaucitronPersonalize2'),
    refuse: page => click(page, '#tarteaucitronAllDenied2'),
    change: async page => {
      await click(page, '.ready #tarteaucitronManager')
      await click(page, '#marketingDenied')
      await click(page, '#tarteaucitronClosePanel')
    },
    withdraw: async page => {
      await click(page, '.ready #tarteaucitronManager')
      await click(page, '#tarteaucitronAllDenied')
    },
    state: `[document.getElementById('tarteaucitronAlertBig')?.style.display === 'block', ${cookie('tarteaucitron')}]`,
    preferences: { ...optional, part: { analytics: true, marketing: false } },
  },
  c15t: {
    html: `
      <script type="module" src="/c15t.js"></script>
      <button type="button" id="accept">Accept</button>
      <button type="button" id="refuse">Refuse</button>
      <button type="button" id="change">No marketing</button>`,
    accept: page => click(page, '#accept'),
    refuse: page => click(page, '#refuse'),
    change: page => click(page, '#change'),
    withdraw: page => click(page, '#refuse'),
    reset: 'c15tStore.getState().resetConsents()',
    state: '[c15tStore.getState().activeUI, c15tStore.getState().consentInfo && c15tStore.getState().consents]',
    preferences: {
      all: { necessary: true, measurement: true, marketing: true },
      none: { necessary: true, measurement: false, marketing: false },
      part: { necessary: true, measurement: true, marketing: false },
    },
  },
  orejime: {
    html: `
      <script>
        var orejimeConfig = {
          privacyPolicyUrl: '/privacy',
          purposes: [
            { id: 'session', title: 'Session', isMandatory: true },
            { id: 'all', title: 'All', purposes: [{ id: 'analytics', title: 'A' }, { id: 'marketing', title: 'M' }] },
          ],
        }
      </script>
      <script src="/node_modules/orejime/dist/orejime-standard-en.js"></script>
      <button type="button" id="accept" onclick="orejime.manager.acceptAll()">Accept</button>
      <button type="button" id="refuse" onclick="orejime.manager.declineAll()">Refuse</button>
      <button type="button" id="change" onclick="orejime.manager.setConsent('marketing', false)">No marketing</button>`,
    accept: page => page.locator('#accept').dispatchEvent('click'), // the banner may cover it
    refuse: page => page.locator('#refuse').dispatchEvent('click'),
    change: page => page.locator('#change').dispatchEvent('click'),
    withdraw: page => page.locator('#refuse').dispatchEvent('click'),
    reset: 'orejime.manager.clearConsents()',
    state: `[orejime.manager.isDirty(), ${cookie('eu-consent')}]`,
    preferences: withNecessary('session'),
  },
  tcf: {
    html: `
      <script type="module" src="/tcf.js"></script>
      <button type="button" id="accept">Accept</button>
      <button type="button" id="refuse">Refuse</button>
      <button type="button" id="change">Purposes 1 and 2</button>`,
    accept: page => click(page, '#accept'),
    refuse: page => click(page, '#refuse'),
    change: page => click(page, '#change'),
    withdraw: page => click(page, '#refuse'),
    state: `[tcShown(), localStorage.getItem('tc')?.slice(20)]`, // without its times
    preferences: { all: tcfChoice(11), none: tcfChoice(0), part: tcfChoice(2) },
  },
  'consent-mode': {
    ...cookieconsent,
    html: `
      <script>
        var dataLayer = []
        function gtag() { dataLayer.push(arguments) }
        const word = name => (CookieConsent.acceptedCategory(name) ? 'granted' : 'denied')
        const update = () => gtag('consent', 'update', { analytics_storage: word('analytics'), ad_storage: word('marketing') })
        gtag('consent', 'default', { analytics_storage: 'denied', ad_storage: 'denied', wait_for_update: 500 })
        gtag('js', new Date())
      </script>
      ${cookieconsent.html.replace('hideFromBots: false,', '$& onConsent: update, onChange: update,')}`,
    preferences: {
      all: { analytics_storage: true, ad_storage: true },
      none: { analytics_storage: false, ad_storage: false },
      part: { analytics_storage: true, ad_storage: false },
    },
  },
}

/** IAB's own implementation of the interface; its list of vendors is empty. */
const tcfSetup = `
import { CmpApi } from '@iabtechlabtcf/cmpapi'
import { GVL, TCModel, TCString } from '@iabtechlabtcf/core'
const ids = Array.from({ length: 11 }, (_, index) => index + 1)
const purposes = Object.fromEntries(ids.map(id => [id, { id, name: String(id), description: '', illustrations: [] }]))
const gvl = new GVL({
  gvlSpecificationVersion: 3, vendorListVersion: 1, tcfPolicyVersion: 5, lastUpdated: '2026-01-01T00:00:00Z',
  purposes, specialPurposes: {}, features: {}, specialFeatures: {}, dataCategories: {}, stacks: {}, vendors: {},
})
const api = new CmpApi(31, 1, true)
const stored = localStorage.getItem('tc')
api.update(stored ?? '', stored === null)
const save = given => {
  const model = new TCModel(gvl)
  Object.assign(model, { cmpId: 31, cmpVersion: 1, isServiceSpecific: true, publisherCountryCode: 'DE' })
  model.purposeConsents.set(given)
  const text = TCString.encode(model)
  localStorage.setItem('tc', text)
  api.update(text, true)
  api.update(text, false)
}
window.tcShown = () => localStorage.getItem('tc') === null
const on = (id, given) => document.getElementById(id).addEventListener('click', () => save(given))
on('accept', ids)
on('refuse', [])
on('change', ids.filter(id => id < 3))
`

/** The package has no buttons: a page brings its own. */
const c15tSetup = `
import { getOrCreateConsentRuntime } from 'c15t'
const { consentStore } = getOrCreateConsentRuntime({
  mode: 'offline', consentCategories: ['necessary', 'measurement', 'marketing'],
})
const on = (id, act) => document.getElementById(id).addEventListener('click', () => act(consentStore.getState()))
on('accept', state => state.saveConsents('all'))
on('refuse', state => state.saveConsents('necessary'))
on('change', state => state.setConsent('marketing', false))
`

export interface BannerShop {
  readonly origin: string
  close(): Promise<void>
}

const packages = new URL('../fixtures/banners/', import.meta.url)
/** True if the packages of the banners are there; if not they are installed, which needs a registry. */
export const hasBanners =
  existsSync(new URL('node_modules/.package-lock.json', packages)) ||
  spawnSync('npm', ['ci'], { cwd: packages, stdio: 'ignore', shell: process.platform === 'win32' }).status === 0
if (!hasBanners) {
  if (process.env['CI'])
    throw new Error('The packages of the banners cannot be installed: try npm ci in test/fixtures/banners.')
  process.stderr.write('\n*** SKIPPED: the snippets of banners. Their packages cannot be installed. ***\n\n')
}
const types: Record<string, string> = { js: 'text/javascript', css: 'text/css' }

/** Serves a page of each banner, /klaro for example, with its snippet or, as /klaro?bare, without it, on a free port. */
export async function serveBanners(
  snippet: (name: BannerName) => string,
  /** Pages besides, by path. */
  pages: Readonly<Record<string, () => string>> = {},
): Promise<BannerShop> {
  const bundle = async (contents: string) => {
    const stdin = { contents, resolveDir: fileURLToPath(packages) }
    const { outputFiles } = await build({ stdin, bundle: true, format: 'esm', write: false })
    return outputFiles[0]?.contents ?? ''
  }
  const modules = { '/c15t.js': await bundle(c15tSetup), '/tcf.js': await bundle(tcfSetup) }
  const serve = (path: string, isBare: boolean): [type: string, body: string | Uint8Array] | undefined => {
    const name = path.slice(1).replace(/\.js$/, '') as BannerName
    if (path === '/') return ['text/html', '<!doctype html><title>A shop</title>']
    if (pages[path]) return ['text/html', pages[path]()]
    if (path === '/c15t.js' || path === '/tcf.js') return ['text/javascript', modules[path]]
    if (path.startsWith('/node_modules/') && !path.includes('..'))
      return [types[path.split('.').at(-1) ?? ''] ?? 'text/plain', readFileSync(new URL(`.${path}`, packages))]
    if (path.startsWith('/consent-') && path.endsWith('.js'))
      return ['text/javascript', snippet(path.slice(9, -3) as BannerName)]
    if (!Object.hasOwn(banners, name)) return undefined
    const { html } = banners[name]
    return [
      'text/html',
      `<!doctype html><html lang="en"><meta charset="utf-8"><title>A shop</title><body>${html}
      ${isBare ? '' : scriptElement.replace('consent', `consent-${name}`)}</body></html>`,
    ]
  }
  const server = createServer(({ url = '' }, response) => {
    const [path = '', query] = url.split('?')
    const [type, body] = serve(path, query === 'bare') ?? ['text/plain', '']
    response.writeHead(body === '' ? 404 : 200, {
      'content-type': `${type}; charset=utf-8`,
      'cache-control': 'no-store',
    })
    response.end(body)
  })
  return { origin: await listen(server), close: () => close(server) }
}
