/**
 * In the storage `consent` is the last choice, `consentDone` the last recorded one, and `consentSent` one without a
 * response, which is repeated (and recorded once) before the next. A choice is read in a microtask: the banner has
 * finished then, and no page can have been left. The lock orders the requests of all tabs.
 */
const recorder = `\
const service = 'https://consent.example.com', token = 'st-YOUR-SITE-TOKEN'
const headers = { 'Content-Type': 'application/json', 'X-Site-Token': token }
const unstored = {} // what the browser does not keep, because its storage is blocked or full
const read = name => { try { return unstored[name] ?? localStorage[name] } catch {} }
const keep = (name, value) => {
  try { localStorage[name] = value; delete unstored[name] } catch { unstored[name] = value }
  return value
}
const hex = byte => byte.toString(16).padStart(2, '0')
const random = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), hex).join('')
const post = choice => {
  const subject_id = read('consentSubject') || keep('consentSubject', random())
  const body = JSON.stringify({ subject_id, consent_token: read('consentToken') || undefined, ...JSON.parse(choice) })
  return fetch(service + '/api/v1/public/consent', { method: 'POST', keepalive: true, headers, body })
}
const isWaiting = () => read('consent') !== read('consentDone')
const sendAll = async () => {
  await new Promise(done => setTimeout(done, 100)) // what another tab has stored arrives later than its lock
  for (let choice; (choice = read('consentSent') || (isWaiting() && read('consent'))); ) {
    const response = await post(keep('consentSent', choice))
    if (response.ok) {
      keep('consentToken', (await response.json()).consent_token)
      keep('consentDone', choice)
    } else if (read('consentToken') && [400, 409].includes(response.status)) {
      keep('consentToken', '') // expired, or the record was deleted or changed elsewhere: the choice makes a new one
      continue
    } else if (response.status >= 500) return
    keep('consentSent', '')
    if (!response.ok) return
  }
}
const trySending = () => sendAll().catch(() => {}) // without a network: when it is back, or by the next page
const send = async () => {
  try { await navigator.locks.request('consent', trySending) } catch { await trySending() } // plain http has no locks
}
const record = (isChosen, [optional, fixed] = answer() ?? []) => {
  const preferences = { ...fixed, ...optional }, known = JSON.parse(read('consent') || '{}').preferences
  const isNew = !known || Object.keys(preferences).some(name => preferences[name] !== (known[name] ?? false))
  if (!optional || !(isChosen || isNew)) return
  const accepted = Object.values(optional).includes(true)
  keep('consent', JSON.stringify({ idempotency_key: random(), accepted, preferences }))
  if (!isChosen && unstored.consent) delete unstored.consent // else it would be found, and recorded, on every page
  else send()
}
const quietly = (act, ...given) => { try { act(...given) } catch (error) { console.warn(error) } }
const chosen = () => queueMicrotask(() => quietly(record, true)) // by the visitor just now
const found = () => queueMicrotask(() => quietly(record, false)) // in the banner's own storage
const start = watch => {
  try { watch() } catch (error) {
    if (document.readyState === 'complete') console.warn(error)
    else addEventListener('load', () => quietly(watch)) // the banner is perhaps not there yet
  }
  addEventListener('online', send)
  addEventListener('pagehide', () => {
    if (isWaiting() && !read('consentSent')) post(keep('consentSent', read('consent'))).catch(() => {})
  })
  send()
}
`

/**
 * A visitor's answers by name: those that could be refused and those that could not. Only what the banner stores: `found` when the
 * page loads, `chosen` at each choice.
 */
const adapters = {
  cookieconsent: `\
const answer = () => {
  const { acceptedServices, rejectedServices } = CookieConsent.getUserPreferences(), optional = {}, fixed = {}
  for (const [name, { readOnly }] of Object.entries(CookieConsent.getConfig('categories'))) {
    const into = readOnly ? fixed : optional, isTaken = CookieConsent.acceptedCategory(name)
    const { [name]: taken = [] } = acceptedServices, { [name]: refused = [] } = rejectedServices
    for (const service of refused) into[name + '.' + service] = false
    for (const service of taken) into[name + '.' + service] = true
    if ((isTaken ? refused : taken).length === 0) into[name] = isTaken
  }
  return [optional, fixed]
}
start(() => {
  if (CookieConsent.validConsent()) found()
  addEventListener('cc:onConsent', found)
  for (const event of ['cc:onFirstConsent', 'cc:onChange']) addEventListener(event, chosen)
})
`,
  klaro: `\
const answer = () => {
  const { config, consents, confirmed } = klaro.getManager(), optional = {}, fixed = {}
  for (const { name, required = config.required } of config.services)
    if (required) fixed[name] = true
    else optional[name] = confirmed && consents[name] === true
  return [optional, fixed]
}
start(() => {
  const manager = klaro.getManager()
  let { confirmed } = manager
  if (confirmed) found()
  const update = (_, event) => {
    if (event === 'saveConsents' || (confirmed && !manager.confirmed)) chosen() // saved, or reset
    confirmed = manager.confirmed
  }
  manager.watch({ update })
})
`,
  osano: `\
let status
const answer = () => [{ cookies: status === 'allow' }]
start(() => {
  const { prototype } = cookieconsent.Popup, { setStatus, clearStatus } = prototype
  const set = (next, note) => { if (['allow', 'deny'].includes(next)) note((status = next)) }
  prototype.setStatus = function (next) {
    try { return setStatus.apply(this, arguments) } finally { set(next, chosen) }
  }
  prototype.clearStatus = function () {
    const before = this.getStatus()
    try { return clearStatus.apply(this, arguments) } finally { if (before === 'allow') set('deny', chosen) }
  }
  set(cookieconsent.utils.getCookie('cookieconsent_status'), found)
})
`,
  tarteaucitron: `\
const answer = () => {
  const { cookie, highPrivacy, parameters, services, state, user } = tarteaucitron
  if (!highPrivacy || user.bypass || parameters.handleBrowserDNTRequest) return
  const isAsked = ({ needConsent, defaultState = parameters.serviceDefaultState } = {}) =>
    needConsent && defaultState === 'wait'
  const kept = [...cookie.read().matchAll(/!([^!=]+)=(true|false)/g)].map(([, key, given]) => [key, given === 'true'])
  const given = [...kept, ...Object.entries(state)].filter(([key]) => isAsked(services[key]))
  if (given.length > 0) return [Object.fromEntries(given)]
}
start(() => {
  const { job } = tarteaucitron
  if (document.getElementById('tarteaucitronRoot')) found()
  addEventListener('tac.root_available', found)
  for (const key of job) for (const end of ['_allowed', '_disallowed']) document.addEventListener(key + end, chosen)
})
`,
  c15t: `\
const answer = () => {
  const { consentCategories, consentTypes, consents } = c15tStore.getState(), optional = {}, fixed = {}
  for (const name of consentCategories)
    (consentTypes.find(type => type.name === name)?.disabled ? fixed : optional)[name] = consents[name] === true
  return [optional, fixed]
}
start(() => {
  if (c15tStore.getState().consentInfo?.subjectId) found()
  c15tStore.subscribe((now, before) => {
    if (now.consents === before.consents || now.consentInfo === before.consentInfo) return
    const isReset = before.consentInfo?.subjectId && before.hasFetchedBanner // else the banner asks about a new policy
    if (now.consentInfo ? now.consentInfo.subjectId : isReset) chosen()
  })
})
`,
  orejime: `\
const answer = () => {
  const { config, manager } = orejime, isAnswered = !manager.isDirty(), optional = {}, fixed = {}
  const add = ({ id, isExempt, isMandatory, purposes }) => {
    if (purposes) purposes.forEach(add)
    else if (isExempt || isMandatory) fixed[id] = manager.getConsent(id) === true
    else optional[id] = isAnswered && manager.getConsent(id) === true
  }
  config.purposes.forEach(add)
  return [optional, fixed]
}
start(() => {
  const { manager } = orejime
  if (!manager.isDirty()) found()
  manager.on('dirty', isDirty => { if (!isDirty) chosen() }) // at each choice
  manager.on('clear', chosen)
})
`,
  tcf: `\
let data
const answer = () => {
  const { purpose, specialFeatureOptins } = data, optional = {}
  for (let id = 1; id <= 11; id += 1) optional['purpose-' + id] = purpose.consents[id] === true
  for (const id of [1, 2]) optional['special-feature-' + id] = specialFeatureOptins[id] === true
  return [optional]
}
start(() => __tcfapi('addEventListener', 2, (next, isDone) => {
  if (!isDone || next.gdprApplies === false) return
  if (next.eventStatus === 'tcloaded') found((data = next))
  if (next.eventStatus === 'useractioncomplete') chosen((data = next))
}))
`,
  'consent-mode': `\
const always = ['security_storage'] // and what else your banner grants to everyone
const optional = {}, fixed = {}
const answer = () => Object.keys(optional).length > 0 ? [optional, fixed] : undefined
const take = entry => {
  if (entry?.[0] !== 'consent' || entry[1] !== 'update' || !navigator.userActivation?.hasBeenActive) return
  for (const [name, word] of Object.entries(entry[2] ?? {}))
    if (['granted', 'denied'].includes(word)) (always.includes(name) ? fixed : optional)[name] = word === 'granted'
  found()
}
start(() => {
  const layer = (window.dataLayer ??= []), { push } = layer
  layer.forEach(entry => take(entry))
  layer.push = function (...entries) {
    try { return push.apply(this, entries) } finally { quietly(() => entries.forEach(take)) }
  }
})
`,
}

export type BannerName = keyof typeof adapters
export const bannerNames = Object.keys(adapters) as BannerName[]

/** Used in server/banner/README.md. */
export const snippetParts = { recorder, ...adapters }

export const placeholders = { service: 'https://consent.example.com', token: 'st-YOUR-SITE-TOKEN' }

/** Does not delay the page, unlike `src`: some banners wait for its `load` event. */
export const scriptElement = `<script type="module">import('/consent.js').catch(() => {})</script>`

/** A JavaScript module; missing values stay placeholders. */
export function snippetFor(
  banner: BannerName,
  { service, token }: { readonly service?: string; readonly token?: string } = {},
): string {
  return (recorder + adapters[banner])
    .replace(placeholders.service, () => service ?? placeholders.service)
    .replace(placeholders.token, () => token ?? placeholders.token)
}
