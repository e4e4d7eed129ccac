/**
 * `consent` is the last choice not yet recorded. `consentSent` is one without a response: it is sent again before the
 * next, and its key prevents a second record. The lock orders the requests of all tabs.
 */
const recorder = `\
const kept = localStorage, service = 'https://consent.example.com'
const headers = { 'Content-Type': 'application/json', 'X-Site-Token': 'st-YOUR-SITE-TOKEN' }
const send = () => navigator.locks.request('consent', async () => {
  while ((kept.consentSent ||= kept.consent ?? '')) {
    const body = JSON.stringify({ ...JSON.parse(kept.consentSent), consent_token: kept.consentToken || undefined })
    const response = await fetch(service + '/api/v1/public/consent', { method: 'POST', keepalive: true, headers, body })
    if (!response.ok && !(kept.consentToken && [400, 409].includes(response.status))) return delete kept.consentSent
    kept.consentToken = response.ok ? (await response.json()).consent_token : ''
    if (response.ok) [kept.consent, kept.consentSent] = [kept.consent === kept.consentSent ? '' : kept.consent, '']
  }
}).catch(() => {}) // no network: sent when it is back, or by the next page
const record = (accepted, preferences) => {
  const ids = { subject_id: (kept.consentSubject ??= crypto.randomUUID()), idempotency_key: crypto.randomUUID() }
  kept.consent = JSON.stringify({ ...ids, accepted, preferences })
  send()
}
for (const event of ['load', 'online']) addEventListener(event, send)
`

/** Three lines for each banner, which call `record` at each choice of a visitor and at nothing else. */
const listeners = {
  cookieconsent: `\
const chosen = () => record(CookieConsent.getUserPreferences().acceptType !== 'necessary', Object.fromEntries(
  Object.keys(CookieConsent.getConfig('categories')).map(name => [name, CookieConsent.acceptedCategory(name)])))
for (const event of ['cc:onFirstConsent', 'cc:onChange']) addEventListener(event, chosen)
`,
  klaro: `\
const chosen = ({ config: { services } }, event, { consents }) => event === 'saveConsents' &&
  record(services.some(({ name, required }) => !required && consents[name]), consents)
klaro.getManager().watch({ update: chosen })
`,
  osano: `\
const chosen = accepted => record(accepted, { cookies: accepted })
const onStatusChange = status => status === 'dismiss' || chosen(status === 'allow')
cookieconsent.initialise({ ...cookieconsentOptions, onStatusChange, onRevokeChoice: () => chosen(false) })
`,
  tarteaucitron: `\
const { job, services, state } = tarteaucitron, isGiven = key => state[key] && services[key].needConsent
const chosen = () => tarteaucitron.highPrivacy && record(Object.keys(state).some(isGiven), { ...state })
for (const key of job) for (const end of ['_allowed', '_disallowed']) document.addEventListener(key + end, chosen)
`,
  c15t: `\
const saved = ({ consentCategories: names, consents: given }) => record(
  names.some(name => name !== 'necessary' && given[name]), Object.fromEntries(names.map(name => [name, given[name]])))
c15tStore.subscribe((now, { consentInfo: old }) => now.consentInfo && now.consentInfo.time !== old?.time && saved(now))
`,
}

export type BannerName = keyof typeof listeners
export const bannerNames = Object.keys(listeners) as BannerName[]

export const placeholders = { service: 'https://consent.example.com', token: 'st-YOUR-SITE-TOKEN' }

/** Returns a JavaScript module for a page with the banner. Missing values stay placeholders. */
export function snippetFor(
  banner: BannerName,
  { service, token }: { readonly service?: string; readonly token?: string } = {},
): string {
  return (recorder + listeners[banner])
    .replace(placeholders.service, () => service ?? placeholders.service)
    .replace(placeholders.token, () => token ?? placeholders.token)
}
