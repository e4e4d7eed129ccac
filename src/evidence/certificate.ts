import { givers, methods } from '../contract/circumstances.ts'
import { purposeStates } from '../contract/documents/consent-receipt.ts'
import type { EvidencePack } from '../contract/documents/evidence-pack.ts'
import {
  findLanguage,
  formatDate,
  type Language,
  nameLanguage,
  primaryOf,
  type TextKey,
  textsIn,
} from './certificate-texts.ts'
import { findBracket } from './dates.ts'
import { type Excerpt, excerptOf } from './notice-excerpt.ts'
import { type Pack, requireFile, textFile } from './pack.ts'
import { type Consent, type ConsentState, consentOf, type Purpose, type PurposeState } from './state.ts'

/** Texts of ours, and values from documents, which are foreign text. */
export type Words = readonly (string | { readonly value: string })[]

export type Block =
  | { readonly kind: 'verdict' | 'sentences' | 'bullets' | 'steps' | 'small'; readonly items: readonly Words[] }
  | {
      readonly kind: 'table' | 'identifiers'
      readonly head: readonly Words[]
      readonly rows: readonly (readonly Words[])[]
    }
  | { readonly kind: 'quote'; readonly language: string; readonly text: string }

export interface Section {
  readonly heading: Words | null
  readonly blocks: readonly Block[]
}

export interface Certificate {
  readonly language: Language
  readonly title: string
  readonly sections: readonly Section[]
}

interface Sealing {
  readonly createdAt: string
  readonly keyId: string
  readonly presented?: EvidencePack['presented']
}

/** A page has room for this much. */
const maxPurposes = 6
const [firstEvents, lastEvents] = [2, 3]
const maxFiles = 2
/** Of a sentence. */
const maxListed = 3
/** In characters (code points), in sentences, in tables and in lists. */
const [maxValue, maxCell, maxName] = [160, 60, 40]

/** What the documents of a pack say about one record, in the language of its notice. `certificate.md` has every sentence. */
export function certificateOf(pack: Pack, sealing: Sealing): Certificate {
  const text = chooseText(pack)
  const language = (text && findLanguage(text.language)) ?? findLanguage(pack.record.notice_locale ?? '') ?? 'en'
  return new Writer(pack, sealing, language, text).write()
}

type NoticeText = NonNullable<Pack['notice']>['manifest']['texts'][number]

/** That of the language that was shown, else the only one, else an English one, else the first. */
function chooseText({ notice, record }: Pack): NoticeText | null {
  const texts = notice?.manifest.texts ?? []
  const shown = record.notice_locale ?? ''
  const inLanguage = (tag: string) => texts.find(({ language }) => primaryOf(language) === primaryOf(tag))
  return texts.find(({ language }) => language === shown) ?? inLanguage(shown) ?? inLanguage('en') ?? texts[0] ?? null
}

type Entry = Pack['history'][number]
interface TitledPurpose extends Purpose {
  /** Of a purpose of the notice. */
  readonly title: string | undefined
}
type Values = Readonly<Record<string, string | number | Words>>

class Writer {
  readonly #pack: Pack
  readonly #sealing: Sealing
  readonly #language: Language
  readonly #text: NoticeText | null
  readonly #consent: Consent
  /** Of the last purge, if it left a sealed proof. */
  readonly #sealed: Entry['sealed']
  /** A purge removed the answers, and no sealed proof shows them. */
  readonly #isUnknown: boolean
  readonly #isPurged: boolean
  readonly #isImported: boolean
  readonly #hasGpc: boolean
  readonly #isPaper: boolean
  readonly #isByOther: boolean

  constructor(pack: Pack, sealing: Sealing, language: Language, text: NoticeText | null) {
    const { history, notice, record } = pack
    this.#pack = pack
    this.#sealing = sealing
    this.#language = language
    this.#text = text
    this.#sealed = history.at(-1)?.sealed
    this.#consent = consentOf(
      toldHistory(history, this.#sealed?.answers),
      notice?.manifest.purposes.map(({ key }) => key),
    )
    this.#isPurged = history.some(({ action }) => action === 'purged')
    this.#isUnknown = this.#isPurged && this.#sealed?.answers === undefined
    this.#isImported = record.origin !== undefined
    this.#hasGpc = history.some(({ gpc }) => gpc)
    this.#isPaper = history.some(({ circumstances: told }) => told?.method === 'paper' || told?.form !== undefined)
    this.#isByOther = history.some(({ circumstances: told }) => ['guardian', 'agent'].includes(told?.given_by ?? ''))
  }

  write(): Certificate {
    const sections = this.#sections().map(({ heading, blocks }) => ({ heading, blocks: blocks.map(fit) }))
    return { language: this.#language, title: textsIn[this.#language].title, sections }
  }

  #sections(): Section[] {
    return [
      { heading: null, blocks: [{ kind: 'verdict', items: this.#verdict() }] },
      { heading: this.#say('who'), blocks: [{ kind: 'sentences', items: this.#who() }] },
      { heading: this.#say('what'), blocks: this.#what() },
      { heading: this.#say('how'), blocks: this.#how() },
      { heading: this.#say('proves'), blocks: [{ kind: 'bullets', items: this.#proves() }] },
      { heading: this.#say('proves_not'), blocks: [{ kind: 'bullets', items: this.#lacks() }] },
      { heading: this.#say('check'), blocks: [{ kind: 'steps', items: this.#checks() }] },
      { heading: this.#say('words'), blocks: [{ kind: 'small', items: this.#glossary() }] },
      { heading: this.#say('identifiers'), blocks: [{ kind: 'identifiers', head: [], rows: this.#identifiers() }] },
    ]
  }

  #say(key: TextKey, values: Values = {}): Words {
    const parts = textsIn[this.#language][key].split(/\{(\w+)\}/)
    return parts.flatMap((part, index): Words => {
      if (index % 2 === 0) return part === '' ? [] : [part]
      const value = values[part] ?? ''
      return typeof value === 'object' ? value : [typeof value === 'number' ? String(value) : { value }]
    })
  }

  #date(at: string): Words {
    return [formatDate(this.#language, at)]
  }

  /** When a person answered: as the importer reported it, or no later than when it was entered. */
  #when(entry: Entry): Words {
    const { given_at, created_at } = entry
    if (given_at) return this.#say('reported', { date: this.#date(given_at) })
    return isEntered(entry) ? this.#say('entered', { date: this.#date(created_at) }) : this.#date(created_at)
  }

  #verdict(): Words[] {
    const { receipt, record } = this.#pack
    const first = [...this.#deletion(), ...this.#newer()]
    const isSearched = receipt !== null && record.subject_id !== null
    return [
      ...first,
      ...(first.length > 0 ? [this.#say('own')] : []),
      ...(this.#isUnknown ? this.#purgedState() : this.#state()),
      ...this.#period(),
      ...this.#confirmation(),
      ...(isSearched ? [] : [this.#say('newer_not_searched')]),
      ...(isSearched && receipt.newer_answers.length === 0 ? [this.#say('no_newer')] : []),
      this.#say('as_of', { date: this.#date(receipt?.issued_at ?? this.#sealing.createdAt) }),
    ]
  }

  #deletion(): Words[] {
    const { history, record } = this.#pack
    if (!record.deleted_at) return []
    const purge = history.findLast(({ action }) => action === 'purged')
    const values = { date: this.#date(record.deleted_at), purged: this.#date(purge?.created_at ?? '') }
    return [this.#say(purge ? 'deleted_purged' : 'deleted', values)]
  }

  /** After a purge `accepted` is left, and no purpose. */
  #purgedState(): Words[] {
    const last = this.#pack.history.findLast(isAnswer)
    return [this.#lastAnswer(last?.accepted ? 'accepted' : 'not_accepted'), this.#say('purged_purposes')]
  }

  #lastAnswer(key: 'accepted' | 'not_accepted'): Words {
    const { history } = this.#pack
    return this.#say(key, { date: this.#when(history.findLast(isAnswer) ?? history[0]) })
  }

  #state(): Words[] {
    const purposes = this.#deciding()
    const lists = purposeStates.map(state => ({ state, all: purposes.filter(each => each.state === state) }))
    return [
      ...this.#whole(purposes),
      ...lists.flatMap(({ state, all }) =>
        all.length === 0 ? [] : [this.#say(`${state}_for`, { purposes: this.#listPurposes(all) })],
      ),
      ...(this.#isGiven || this.#consent.purposes.some(({ state }) => state === 'given')
        ? []
        : [this.#say('no_consent')]),
    ]
  }

  /** About the record as a whole, if no list of purposes has its state. */
  #whole(purposes: readonly Purpose[]): Words[] {
    const { history } = this.#pack
    const state = this.#wholeState
    if (purposes.some(each => each.state === state)) return []
    if (state === 'given')
      return [this.#lastAnswer('accepted'), ...(purposes.length === 0 ? [this.#say('no_purposes')] : [])]
    if (state === 'partly') return []
    const first = this.#consent.events.findLastIndex(event => event.state !== state) + 1
    return [this.#say(state, { date: this.#when(history[first] ?? history[0]) })]
  }

  get #wholeState(): ConsentState {
    return this.#consent.events.at(-1)?.state ?? 'refused'
  }

  get #isGiven(): boolean {
    return this.#wholeState === 'given' || this.#wholeState === 'partly'
  }

  /** The purposes by which the state of the whole goes. */
  #deciding() {
    const { named, others } = this.#rankPurposes()
    return named.length > 0 ? named : others
  }

  #period(): Words[] {
    const { receipt } = this.#pack
    if (!receipt || !this.#isGiven) return []
    const end = this.#date(receipt.expires_at ?? '')
    if (receipt.consent_status === 'dpv:ConsentExpired') return [this.#say('expired', { end })]
    if (receipt.newer_answers.length > 0) return []
    return [this.#say(receipt.expires_at === null ? 'valid_without_end' : 'valid_until', { end })]
  }

  #confirmation(): Words[] {
    const { history, notice } = this.#pack
    const entry = history.findLast(({ circumstances }) => circumstances?.confirmed_at !== undefined)
    const at = entry?.circumstances?.confirmed_at
    if (!entry || at === undefined) return []
    const isBefore = (other: string) => Date.parse(at) < Date.parse(other)
    const isEarly = isBefore(entry.created_at) && (!entry.given_at || isBefore(entry.given_at))
    return [
      this.#say('confirmed', { date: this.#when(entry), confirmed: this.#date(at) }),
      ...(isEarly ? [this.#say('confirmed_before_entry')] : []),
      ...(notice && isBefore(notice.entry.at) ? [this.#say('confirmed_before_notice')] : []),
    ]
  }

  #listPurposes(purposes: readonly TitledPurpose[]): Words {
    const { history } = this.#pack
    const each = purposes.map(({ purpose: key, title = key, since }) => {
      const entry = since === null ? undefined : history[since]
      const purpose = shorten(title)
      return entry
        ? this.#say('purpose_on', { purpose, date: this.#when(entry) })
        : this.#say('purpose_named', { purpose })
    })
    return this.#list(each, ', ')
  }

  #newer(): Words[] {
    const newer = this.#pack.receipt?.newer_answers ?? []
    if (newer.length === 0) return []
    const { named, others } = this.#rankPurposes()
    const titles = new Map([...named, ...others].map(({ purpose, title }) => [purpose, title]))
    const answers = newer.map(({ purpose, answered_at, state }) => {
      const values = { date: this.#date(answered_at), state: this.#say(`state_${state ?? 'unchecked'}`) }
      if (purpose === null) return this.#say('newer_whole', values)
      return this.#say('newer_purpose', { ...values, purpose: shorten(titles.get(purpose) ?? purpose) })
    })
    return [this.#say('newer', { answers: this.#list(answers, '; ') })]
  }

  /** The first ones, and how many more there are. */
  #list(all: readonly Words[], separator: string): Words {
    const rest = all.length - maxListed
    const more = rest > 0 ? [this.#say('others', { count: rest })] : []
    return join([...all.slice(0, maxListed), ...more], separator)
  }

  #who(): Words[] {
    const { record, notice } = this.#pack
    const { subject_id } = record
    const person = subject_id !== null && this.#say('person', { subject: subject_id })
    return [
      person || this.#presented() || this.#say(this.#isPurged ? 'purged_person' : 'no_person'),
      ...this.#keptProof(),
      ...(notice ? [this.#controller(notice.manifest.controller)] : []),
    ]
  }

  #presented(): Words | undefined {
    const { presented } = this.#sealing
    const purge = this.#pack.history.at(-1)
    if (!presented || !purge) return undefined
    const { subject_id: subject, matched_at } = presented
    return this.#say('sealed_person', { subject, date: this.#date(matched_at), purged: this.#date(purge.created_at) })
  }

  #keptProof(): Words[] {
    if (!this.#sealed) return []
    const { basis, until } = this.#sealed
    return [this.#say('sealed_kept', { basis, until: this.#date(until) })]
  }

  #controller(controller: string | null): Words {
    return controller === null ? this.#say('no_controller') : this.#say('controller', { controller })
  }

  #what(): Block[] {
    const { notice, record } = this.#pack
    const version = record.policy_version ?? 0
    const sentences = notice
      ? [this.#say('notice', { version, date: this.#date(notice.entry.at) }), this.#shown()]
      : [this.#say('no_notice', { version })]
    return [{ kind: 'sentences', items: sentences }, ...this.#purposes(), ...this.#noticeText()]
  }

  #shown(): Words {
    const locale = this.#pack.record.notice_locale
    if (locale) return this.#say('shown', { language: nameLanguage(locale) })
    return this.#say(this.#isPurged ? 'purged_language' : 'not_shown')
  }

  #purposes(): Block[] {
    const { history, notice, receipt } = this.#pack
    const { named, others } = this.#rankPurposes()
    const purposes = [...named, ...others]
    const overruled = new Set(receipt?.newer_answers.map(({ purpose }) => purpose))
    if (this.#isUnknown || purposes.length === 0)
      return [{ kind: 'sentences', items: [this.#say(this.#isUnknown ? 'purged_purposes' : 'no_purposes')] }]
    const rows = purposes.map(({ purpose: key, title, state, since }): Words[] => {
      const name =
        title === undefined
          ? notice
            ? this.#say('purpose_unnamed', { key })
            : [{ value: key }]
          : this.#say('purpose_titled', { title, key })
      const entry = since === null ? undefined : history[since]
      const words = this.#say(`state_${state}`)
      return [
        name,
        overruled.has(key) ? this.#say('overruled', { state: words }) : words,
        entry ? this.#when(entry) : [],
      ]
    })
    const rest = rows.length - maxPurposes
    const more = rest > 0 ? [[this.#say('more_purposes', { count: rest }), [], []]] : []
    const head = [this.#say('purpose'), this.#say('state'), this.#say('since')]
    return [{ kind: 'table', head, rows: [...rows.slice(0, maxPurposes), ...more] }]
  }

  /** Those of the notice with their titles, in the language or else the first. */
  #rankPurposes(): Readonly<Record<'named' | 'others', readonly TitledPurpose[]>> {
    const titles = new Map<string, string>()
    for (const { key, title, language } of this.#pack.notice?.manifest.purposes ?? []) {
      const isBetter = language !== null && findLanguage(language) === this.#language
      if (!titles.has(key) || isBetter) titles.set(key, title)
    }
    const purposes = this.#consent.purposes.map(each => ({ ...each, title: titles.get(each.purpose) }))
    return {
      named: purposes.filter(({ title }) => title !== undefined),
      others: purposes.filter(({ title }) => title === undefined),
    }
  }

  #noticeText(): Block[] {
    const text = this.#text
    if (!text) return []
    const file = textFile(text)
    const excerpt = excerptOf(requireFile(this.#pack.files, file), text.media_type)
    const language = nameLanguage(text.language)
    if (!excerpt) return [{ kind: 'sentences', items: [this.#say('text_file', { language, file })] }]
    const after: Block[] = excerpt.isStripped ? [{ kind: 'sentences', items: [this.#say('without_markup')] }] : []
    return [
      { kind: 'sentences', items: [this.#introduce(excerpt, { language, file })] },
      { kind: 'quote', language: text.language, text: excerpt.text },
      ...after,
    ]
  }

  #introduce({ count, total }: Excerpt, values: { readonly language: string; readonly file: string }): Words {
    return count === total ? this.#say('text', values) : this.#say('text_cut', { ...values, count, total })
  }

  #how(): Block[] {
    const { history, record } = this.#pack
    const after = this.#statesAfter()
    const rows = history.map((entry, index): Words[] => [
      this.#when(entry),
      this.#event(entry),
      this.#actor(entry),
      isAnswer(entry) ? this.#say(this.#isUnknown ? 'state_unknown' : `state_${after[index] ?? 'refused'}`) : [],
    ])
    const rest = rows.length - firstEvents - lastEvents
    const shown =
      rest > 0
        ? [
            ...rows.slice(0, firstEvents),
            [this.#say('more_events', { count: rest }), [], [], []],
            ...rows.slice(-lastEvents),
          ]
        : rows
    const head = [this.#say('when'), this.#say('event'), this.#say('by'), this.#say('after')]
    const site = this.#nameOf('site', record.site_id, history[0].created_at)
    const { origin } = record
    return [
      { kind: 'table', head, rows: shown },
      {
        kind: 'sentences',
        items: [
          site === null ? this.#say('no_site') : this.#say('site', { site }),
          ...this.#circumstances(),
          ...(origin
            ? [this.#say('imported', { system: origin.system, date: this.#date(history[0].created_at) })]
            : []),
        ],
      },
    ]
  }

  /** Of the last answer whose sender told how it was given. */
  #circumstances(): Words[] {
    const entry = this.#pack.history.findLast(({ circumstances }) => circumstances !== undefined)
    if (!entry?.circumstances) return []
    const { method, given_by, confirmed_at, ...told } = entry.circumstances
    const values = (['channel', 'form', 'relation', 'reference'] as const).flatMap(name =>
      told[name] === undefined ? [] : [this.#say(`told_${name}`, { value: cut([{ value: told[name] }], maxCell) })],
    )
    const how = [
      ...(isOneOf(methods, method) ? [this.#say(`method_${method}`)] : []),
      ...(isOneOf(givers, given_by) ? [this.#say(`given_by_${given_by}`)] : []),
      ...values,
      ...(confirmed_at === undefined ? [] : [this.#say('told_confirmed_at', { date: this.#date(confirmed_at) })]),
    ]
    if (how.length === 0) return []
    return [
      this.#say('told', {
        date: this.#when(entry),
        how: join(how, '; '),
      }),
    ]
  }

  #event({ action, erased, gpc }: Entry): Words {
    const event = this.#say(`event_${action === 'deleted' && erased ? 'erased' : action}` as TextKey)
    return gpc ? this.#say('with_gpc', { event }) : event
  }

  #actor({ changed_by, actor_id, created_at }: Entry): Words {
    if (changed_by !== 'api_key' && changed_by !== 'user')
      return this.#say(changed_by === 'site_token' ? 'by_site_token' : 'by_system')
    const name = this.#nameOf(changed_by, actor_id, created_at)
    return name === null ? this.#say(`by_unnamed_${changed_by}`) : this.#say(`by_${changed_by}`, { name })
  }

  /** By the newest entry of the administrators' log that is no later and has it. */
  #nameOf(kind: string, id: string | null, at: string): string | null {
    const member = kind === 'user' ? 'email' : 'name'
    const names = this.#pack.administration.flatMap(({ entry }) => {
      const after = entry['after'] as Readonly<Record<string, unknown>> | null
      const name = after?.[member]
      const isOf = entry.target?.kind === kind && entry.target.id === id && entry.at <= at
      return isOf && typeof name === 'string' ? [name] : []
    })
    return names.at(-1) ?? null
  }

  /** Of the whole, by the purposes that it goes by: acceptance gives none that was not answered. */
  #statesAfter() {
    const named = this.#pack.notice?.manifest.purposes.map(({ key }) => key) ?? []
    const states = new Map<string, PurposeState>(named.map(key => [key, 'not_answered']))
    return this.#consent.events.map(({ state, changed }) => {
      for (const each of changed)
        if (named.length === 0 || states.has(each.purpose)) states.set(each.purpose, each.state)
      const all = [...states.values()]
      if (state !== 'given' || (all.length > 0 && all.every(each => each === 'given'))) return state
      return all.includes('given') ? 'given_answered' : 'accepted'
    })
  }

  #proves(): Words[] {
    const { receipt, notice, files } = this.#pack
    const hasStamp = [...files.keys()].some(name => name.endsWith('.tsr'))
    return [
      this.#say('proved_pack', { date: this.#date(this.#sealing.createdAt) }),
      ...(receipt ? [this.#say('proved_receipt', { date: this.#date(receipt.issued_at) })] : []),
      this.#place(),
      ...(notice ? [this.#say('proved_notice')] : []),
      ...(hasStamp ? [this.#say('proved_stamp')] : []),
    ]
  }

  #place(): Words {
    const { checkpoints, checkpoint, last } = this.#pack
    const { before, after } = findBracket([...checkpoints.map(each => each.checkpoint), checkpoint], last.leaf_index)
    const values = { after: this.#date(after.created_at), before: this.#date(before?.created_at ?? '') }
    return this.#say(before ? 'proved_between' : 'proved_by', values)
  }

  #lacks(): Words[] {
    const { receipt, notice } = this.#pack
    return [
      this.#say('not_person'),
      this.#say('not_law'),
      ...(notice ? [this.#say('not_read')] : []),
      ...(notice && this.#isPaper ? [this.#say('not_form')] : []),
      ...(this.#isByOther ? [this.#say('not_guardian')] : []),
      ...(this.#isImported ? [this.#say('not_import')] : []),
      ...(this.#isEndedByOther() ? [this.#say('not_wish')] : []),
      ...(this.#sealing.presented ? [this.#say('not_presenter')] : []),
      this.#say('not_later', { date: this.#date(receipt?.issued_at ?? this.#sealing.createdAt) }),
      this.#say('not_keys'),
    ]
  }

  /** A deletion or a withdrawal that did not come with the token of the site, which browsers have. */
  #isEndedByOther(): boolean {
    const { events } = this.#consent
    return this.#pack.history.some(({ action, changed_by }, index) => {
      const event = events[index]
      const isWithdrawn =
        event?.changed.some(({ state }) => state === 'withdrawn') ||
        (event?.state === 'withdrawn' && events[index - 1]?.state !== 'withdrawn')
      return changed_by !== 'site_token' && (action === 'deleted' || isWithdrawn)
    })
  }

  #checks(): Words[] {
    return [this.#say('check_keys'), this.#say('check_program'), this.#say('check_hand')]
  }

  /** Of the words that the page uses. */
  #glossary(): Words[] {
    const { receipt, notice } = this.#pack
    return [
      this.#say('word_roles'),
      this.#say('word_pack'),
      ...(receipt ? [this.#say('word_receipt')] : []),
      this.#say('word_log'),
      ...(notice ? [this.#say('word_notice')] : []),
      ...(this.#isPurged ? [this.#say(this.#sealed ? 'word_purged_sealed' : 'word_purged')] : []),
      ...(this.#sealed ? [this.#say('word_sealed')] : []),
      ...(this.#isImported ? [this.#say('word_reported')] : []),
      ...(this.#pack.history.some(isEntered) ? [this.#say('word_entered')] : []),
      ...(this.#hasGpc ? [this.#say('word_gpc')] : []),
    ]
  }

  #identifiers(): Words[][] {
    const { record, receipt, checkpoint, history } = this.#pack
    const newer = receipt?.newer_answers.slice(0, maxListed).map(({ record_id: id }) => id) ?? []
    const files = [...new Set(history.flatMap(({ file_sha256 }) => file_sha256 ?? []))].slice(0, maxFiles)
    const text = this.#text
    const row = (key: TextKey, value: string | null, values: Values = {}): Words[][] =>
      value === null ? [] : [[this.#say(key, values), [{ value }]]]
    return [
      ...row('id_record', record.id),
      ...row('id_label', record.consent_id),
      ...row('id_account', checkpoint.account_id),
      ...row('id_site', record.site_id),
      ...[...new Set(newer)].flatMap(id => row('id_newer', id)),
      ...(text ? row('id_text', text.sha256, { language: nameLanguage(text.language) }) : []),
      ...files.flatMap(file => row('id_import', file)),
      ...row('id_receipt', receipt?.receipt_id ?? null),
      ...row('id_event', history.at(-1)?.hash ?? null),
      ...row('id_log', checkpoint.root_hash, { size: checkpoint.tree_size }),
      ...row('id_key', this.#sealing.keyId),
    ]
  }
}

function isOneOf<T extends string>(values: readonly T[], value: string | undefined): value is T {
  return values.some(each => each === value)
}

/** With the preferences of the sealed answers, if they are shown. */
function toldHistory(history: Pack['history'], answers: NonNullable<Entry['sealed']>['answers']): readonly Entry[] {
  if (!answers) return history
  return history.map(entry => {
    const answer = answers.findLast(({ version }) => version <= (entry.version ?? 0))
    return { ...entry, preferences: answer?.preferences ?? {} }
  })
}

function isAnswer({ action }: Entry): boolean {
  return action === 'created' || action === 'imported' || action === 'updated'
}

/** Its `created_at` is the time of an entry, and not that of the answer. */
function isEntered({ given_at, circumstances }: Entry): boolean {
  return !given_at && enteredMethods.includes(circumstances?.method ?? '')
}

const enteredMethods: readonly string[] = [
  'phone',
  'paper',
  'verbal',
  'import',
] satisfies readonly (typeof methods)[number][]

function join(list: readonly Words[], separator: string): Words {
  return list.flatMap((words, index) => (index === 0 ? words : [separator, ...words]))
}

/** Cuts the values in it. */
function fit(block: Block): Block {
  if ('items' in block) return { ...block, items: block.items.map(item => cut(item, maxValue)) }
  if (!('rows' in block)) return block
  const max = block.kind === 'table' ? maxCell : maxValue
  return { ...block, rows: block.rows.map(cells => cells.map(cell => cut(cell, max))) }
}

function shorten(name: string): Words {
  return cut([{ value: name }], maxName)
}

/** A value that is cut ends with `…`. */
function cut(words: Words, max: number): Words {
  return words.map(word => {
    if (typeof word === 'string') return word
    const points = [...word.value.slice(0, 2 * max + 2)]
    return points.length > max ? { value: `${points.slice(0, max).join('')}…` } : word
  })
}
