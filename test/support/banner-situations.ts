import type { BrowserContext, Page, Route } from 'playwright-core'
import type { BannerName } from '../../src/domain/snippets.ts'
import { type Banner, banners } from './banners.ts'
import type { VisitorProxy } from './visitor-proxy.ts'

type Choice = Readonly<Record<string, boolean>>
type States = readonly (readonly [accepted: boolean, preferences: Choice])[]

/** A visitor of a page with a banner, of which every step works without its snippet too. */
export interface Visit {
  readonly banner: Banner
  readonly context: BrowserContext
  readonly page: Page
  readonly proxy: VisitorProxy
  /** The folder of the page: that of the shop, or over plain http on a host that is not local. */
  readonly origin: string
  /** Opens the page of the banner, in this tab or another, until its buttons work and the file of the snippet has run. */
  open(page?: Page, hasFile?: boolean): Promise<void>
  /** Notes what the banner shows and keeps. Without the snippet it must be the same. */
  look(page?: Page): Promise<void>
  /** Waits until every choice is recorded, if there is a snippet. */
  recorded(page?: Page): Promise<void>
}

export interface Situation {
  readonly run: (visit: Visit) => Promise<void>
  /** The states of each record that there must be; by default one with everything accepted. */
  readonly records?: (banner: Banner) => readonly States[]
  /** Where the browser has its pages from; by default the shop. */
  readonly place?: 'plain http' | 'without cookies'
  readonly isFor?: (banner: Banner) => boolean
}

const files = '**/consent-*.js'
const nothing = () => []
const refused = ({ preferences: { none } }: Banner): States[] => [[[false, none]]]
const withdrawn = ({ preferences: { all, none } }: Banner): States[] => [
  [
    [true, all],
    [false, none],
  ],
]

const blocked = `Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError') } })`
const full = `(() => {
  for (let size = 1 << 22; size >= 1; size >>= 1)
    for (let n = 0; ; n += 1) try { localStorage[size + ' ' + n] = 'x'.repeat(size) } catch { break }
})()`
/** osano does not start, and Klaro fails. */
const asksNothingWithoutCookies = /cookieconsent\.initialise|klaroConfig/
/** The page is left in the task of the click, after the banner has seen it. */
const leaveAtClick = (address: string) => `addEventListener('click', () => { location.href = '${address}' })`

async function openTab({ context, open }: Visit): Promise<Page> {
  const page = await context.newPage()
  await open(page)
  return page
}

async function acceptAndLook({ banner, page, open, look }: Visit): Promise<void> {
  await open()
  await look()
  await banner.accept(page)
  await look()
}

export const situations: Readonly<Record<string, Situation>> = {
  'a page that is only looked at': {
    run: async ({ page, open, look }) => {
      await open()
      await look()
      await page.reload()
      await open()
      await look()
    },
    records: nothing,
  },
  'pages after a choice': {
    run: async visit => {
      await acceptAndLook(visit)
      for (let count = 0; count < 3; count += 1) {
        await visit.recorded()
        await visit.open()
        await visit.look()
      }
    },
  },
  'a slow file, and a choice before it': {
    run: async ({ banner, page, open, look, recorded }) => {
      let release: () => void = () => {}
      const held = new Promise<void>(resolve => {
        release = resolve
      })
      await page.route(files, (route: Route) => held.then(() => route.continue()))
      await open(page, false) // which would not end if the page waited for the file
      await look()
      await banner.accept(page)
      await look()
      release()
      await recorded()
    },
  },
  'a blocked file, and one on the next page': {
    run: async ({ banner, page, open, look, recorded }) => {
      await page.route(files, route => route.abort())
      await open(page, false)
      await look()
      await banner.refuse(page)
      await look()
      await page.unroute(files)
      await open()
      await look()
      await recorded()
    },
    records: refused,
    isFor: ({ html }) => !html.includes('dataLayer'), // there it is not told from an update without a choice
  },
  'a file that is not there': {
    run: async visit => {
      await visit.page.route(files, route => route.fulfill({ status: 404 }))
      await acceptAndLook(visit)
    },
    records: nothing,
  },
  'a choice of parts': {
    run: async ({ banner, page, open, look, recorded }) => {
      await open()
      await banner.accept(page)
      await recorded()
      await banner.change?.(page)
      await look()
      await recorded()
      await banner.withdraw(page)
      await look()
    },
    records: ({ preferences: { all, none, part } }) => [
      [[true, all], ...(part ? [[true, part] as const] : []), [false, none]],
    ],
  },
  'a reset': {
    run: async ({ banner, page, open, look, recorded }) => {
      await open()
      await banner.accept(page)
      await recorded()
      await page.evaluate(banner.reset ?? '')
      await look()
    },
    records: withdrawn,
    isFor: ({ reset }) => reset !== undefined,
  },
  'a reset on the next page': {
    run: async ({ banner, page, open, look, recorded }) => {
      await open()
      await banner.accept(page)
      await recorded()
      await open()
      await page.waitForTimeout(300) // for what the banner itself loads
      await page.evaluate(banner.reset ?? '')
      await look()
    },
    records: withdrawn,
    isFor: ({ reset }) => reset !== undefined,
  },
  'a blocked storage': {
    run: async visit => {
      await visit.page.addInitScript(blocked)
      await acceptAndLook(visit)
      await visit.page.waitForTimeout(300)
      await visit.open()
      await visit.look()
    },
  },
  'no cookies and no storage at all': {
    run: acceptAndLook,
    place: 'without cookies',
    isFor: ({ html }) => !asksNothingWithoutCookies.test(html),
  },
  'a banner that asks nothing without cookies': {
    run: async ({ open, look }) => {
      await open()
      await look()
    },
    place: 'without cookies',
    records: nothing,
    isFor: ({ html }) => asksNothingWithoutCookies.test(html),
  },
  'a full storage': {
    run: async visit => {
      await visit.page.goto(visit.origin)
      await visit.page.evaluate(full)
      await acceptAndLook(visit)
      await visit.page.waitForTimeout(300)
      await visit.open()
      await visit.look()
    },
  },
  'plain http': {
    run: async visit => {
      await acceptAndLook(visit)
      await visit.recorded()
      await visit.banner.withdraw(visit.page)
      await visit.look()
    },
    place: 'plain http',
    records: withdrawn,
  },
  'two tabs that accept at once': {
    run: async visit => {
      const { banner, page, open, look, recorded } = visit
      await open()
      const other = await openTab(visit)
      await Promise.all([page, other].map(tab => banner.accept(tab)))
      await look()
      await look(other)
      await recorded()
      await recorded(other)
      await other.close()
    },
  },
  'a tab that accepts, and another that refuses': {
    run: async visit => {
      const { banner, page, open, look, recorded } = visit
      await open()
      const other = await openTab(visit)
      await banner.accept(page)
      await recorded()
      await banner.refuse(other)
      await look(other)
      await recorded(other)
      await other.close()
    },
    records: withdrawn,
  },
  'a page that is left for another of the shop at once': {
    run: async ({ banner, page, open, look, origin, recorded }) => {
      await open()
      await page.evaluate(leaveAtClick(`${origin}/?left`))
      await banner.accept(page)
      await page.waitForURL('**/?left')
      await open()
      await look()
      await recorded()
    },
  },
  'a page that is left for elsewhere at once': {
    run: async ({ banner, page, open }) => {
      await open()
      await page.evaluate(leaveAtClick('about:blank'))
      await banner.accept(page)
      await page.waitForURL('about:blank')
    },
  },
  'a service that is down': {
    run: async ({ banner, page, proxy, open, look, recorded }) => {
      proxy.fate = 'down'
      await open()
      await banner.accept(page)
      await look()
      await page.waitForTimeout(300)
      proxy.fate = 'passed'
      await open()
      await look()
      await recorded()
    },
  },
  'a service that answers with errors': {
    run: async ({ banner, page, proxy, open, look, recorded }) => {
      await open()
      for (const [status, choose] of [
        [500, banner.accept],
        [429, open],
        [403, open],
      ] as const) {
        proxy.fate = status
        await choose(page)
        await look()
        await page.waitForTimeout(300)
      }
      proxy.fate = 'passed'
      await open()
      await recorded()
    },
  },
  'an error within the snippet': {
    run: async visit => {
      await visit.page.addInitScript('crypto.getRandomValues = undefined')
      await acceptAndLook(visit)
    },
    records: nothing,
    isFor: ({ html }) => !/CookieConsent|c15t/.test(html), // which need it themselves
  },
  'the same choice again, because the banner forgot it': {
    run: async ({ banner, context, page, open, look, recorded }) => {
      await open()
      await banner.accept(page)
      await recorded()
      await context.clearCookies()
      await page.evaluate("localStorage.removeItem('c15t')")
      await open()
      await banner.accept(page)
      await look()
      await recorded()
    },
  },
}

/** What runs by default: one for each banner, of what went wrong once. */
export const sample: Readonly<Record<BannerName, string>> = {
  cookieconsent: 'a slow file, and a choice before it',
  klaro: 'a reset',
  osano: 'a blocked storage',
  tarteaucitron: 'a slow file, and a choice before it',
  c15t: 'a reset',
  orejime: 'a reset',
  tcf: 'a slow file, and a choice before it',
  'consent-mode': 'a slow file, and a choice before it',
}

/** Pages on which more counts as accepted, or as answered, than the visitor chose. */
export interface Edge {
  readonly name: BannerName
  readonly html: (html: string) => string
  readonly run: (page: Page) => Promise<unknown>
  /** The states of the only record, if there is one. */
  readonly states: States
}

const { c15t, cookieconsent, klaro, tcf } = banners

/** What a page of TCF 2.3 knows of its manager; `tell` is the manager. */
const tcfStub = `<script>
  const listeners = []
  function __tcfapi(command, version, callback) { if (command === 'addEventListener') listeners.push(callback) }
  function tell(eventStatus, more) {
    const purpose = { consents: { 1: true }, legitimateInterests: { 2: true } }
    const data = { tcfPolicyVersion: 5, gdprApplies: true, purpose, specialFeatureOptins: { 1: true }, eventStatus, ...more }
    for (const callback of listeners) callback(data, true)
  }
</script>`
const twoServices = (ga: boolean, matomo: boolean) => ({
  ...{ necessary: true, 'necessary.session': true, marketing: false },
  ...{ 'analytics.ga': ga, 'analytics.matomo': matomo, ...(ga === matomo && { analytics: ga }) },
})
/** The services of the page are added once it has all files: each is asked about, is not, or has an answer before. */
const withServices = (html: string) =>
  html
    .replace("['analytics', 'marketing']) {", "['analytics', 'shop', 'marketing']) {")
    .replace('needConsent: true', "needConsent: key !== 'shop', ...(key === 'marketing' && { defaultState: true })")
    .replace("job = ['analytics', 'marketing']", "job = ['analytics', 'shop', 'marketing']")

export const edges: Readonly<Record<string, Edge>> = {
  'services of a category': {
    name: 'cookieconsent',
    html: html =>
      html
        .replace('analytics: {}', 'analytics: { services: { ga: {}, matomo: {} } }')
        .replace('readOnly: true,', 'readOnly: true, services: { session: {} },'),
    run: async page => {
      for (const act of [
        "Service('ga', 'analytics')",
        "Service('all', 'analytics')",
        "Service('matomo', 'analytics')",
        'Category([])',
      ]) {
        await page.evaluate(`CookieConsent.accept${act}`)
        await page.waitForTimeout(500)
      }
    },
    states: [
      [true, twoServices(true, false)],
      [true, twoServices(true, true)],
      [true, twoServices(false, true)],
      [false, twoServices(false, false)],
    ],
  },
  'only categories that cannot be refused': {
    name: 'cookieconsent',
    html: html => html.replace('analytics: {}, marketing: {}', ''),
    run: cookieconsent.accept,
    states: [[false, { necessary: true }]],
  },
  'a category that the site added without asking': {
    name: 'cookieconsent',
    html: html => html.replace('marketing: {} }', 'marketing: {}, ...(location.hash && { video: {} }) }'),
    run: async page => {
      await cookieconsent.accept(page)
      await page.waitForTimeout(500)
      await page.goto(`${page.url()}#video`)
      await page.reload()
    },
    states: [[true, cookieconsent.preferences.all]],
  },
  'services that are all required, by default': {
    name: 'klaro',
    html: html => html.replace('acceptAll: true,', 'required: true,'),
    run: page => page.evaluate("klaro.getManager().saveAndApplyConsents('save')"),
    states: [[false, klaro.preferences.all]],
  },
  'a banner that is only closed': {
    name: 'osano',
    html: html => html.replace("type: 'opt-in',", "type: 'info',"),
    run: page => page.locator('.cc-dismiss').click(),
    states: [],
  },
  'services without a question, or with an answer before it': {
    name: 'tarteaucitron',
    html: withServices,
    run: async page => {
      await page.waitForTimeout(500)
      await page.locator('#tarteaucitronCloseAlert').click()
      await page.locator('#analyticsDenied').click()
    },
    states: [[false, { analytics: false }]],
  },
  'visitors who are not asked': {
    name: 'tarteaucitron',
    html: html => html.replace('tarteaucitron.init(', 'tarteaucitron.user.bypass = true; tarteaucitron.init('),
    run: page => page.waitForTimeout(1000),
    states: [],
  },
  'what c15t keeps without a choice': {
    name: 'c15t',
    html: html => html,
    run: async page => {
      const all = JSON.stringify(c15t.preferences.all)
      await page.evaluate(`c15tStore.setState({ consents: ${all}, consentInfo: { time: 1 } })`) // if it is not enabled
      await page.evaluate("c15tStore.setState({ consentInfo: { time: 2, subjectId: 'x' } })") // an agreement to a document
    },
    states: [],
  },
  'visitors to whom the GDPR does not apply': {
    name: 'tcf',
    html: () => tcfStub,
    run: page =>
      page.evaluate(`tell('tcloaded', { gdprApplies: false }); tell('useractioncomplete', { gdprApplies: false })`),
    states: [],
  },
  'a manager of TCF that lists what was given alone, and is opened again': {
    name: 'tcf',
    html: () => tcfStub,
    run: async page => {
      await page.evaluate("tell('cmpuishown', {}); tell('useractioncomplete', {})")
      await page.waitForTimeout(500)
      await page.evaluate("tell('cmpuishown', { purpose: { consents: { 1: true, 2: true } } })")
    },
    states: [[true, { ...tcf.preferences.none, 'purpose-1': true, 'special-feature-1': true }]],
  },
  'an update of Consent Mode before any act, and one without types': {
    name: 'consent-mode',
    html: () => `<script>
      let hasBeenActive = false // Playwright's own calls would count as acts
      Object.defineProperty(navigator, 'userActivation', { value: { get hasBeenActive() { return hasBeenActive } } })
      var dataLayer = []
      function gtag() { dataLayer.push(arguments) }
      gtag('consent', 'update')
      gtag('consent', 'update', { ad_storage: 'granted' })
    </script>`,
    run: async page => {
      await page.waitForTimeout(500)
      await page.evaluate("gtag('consent', 'update', { ad_storage: 'granted', analytics_storage: 'granted' })")
      await page.waitForTimeout(500)
      await page.evaluate("hasBeenActive = true; gtag('consent', 'update')")
      await page.evaluate("gtag('consent', 'update', { ad_storage: 'denied' })")
    },
    states: [[false, { ad_storage: false }]],
  },
  'the defaults of Consent Mode, other commands, and what everyone is granted': {
    name: 'consent-mode',
    html: () => '<script>var dataLayer = [{ event: "gtm.js" }]; function gtag() { dataLayer.push(arguments) }</script>',
    run: async page => {
      await page.evaluate(
        "gtag('consent', 'default', { ad_storage: 'granted' }); gtag('event', 'x'); dataLayer.push(null)",
      )
      await page.evaluate(
        "gtag('consent', 'update', { ad_storage: 'denied', security_storage: 'granted', region: ['DE'] })",
      )
    },
    states: [[false, { ad_storage: false, security_storage: true }]],
  },
}
