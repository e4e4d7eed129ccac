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
const [maxListed, maxNewer] = [3, 2]
/** In characters (code points), in sentences, in tables and in lists. */
const [maxValue, maxCell, maxName] = [140, 60, 40]

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
/** The frame has a sentence for each of these, in this order. */
const verdicts = ['stands', 'ended', 'stands_not', 'stands_unknown'] as const
type Verdict = (typeof verdicts)[number]
interface Answer {
  readonly verdict: Verdict
  readonly words: Words
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
  /** Purposes, or null for the whole, for which a newer answer counts. */
  readonly #overruled: ReadonlySet<string | null>
  readonly #isImported: boolean
  readonly #hasGpc: boolean
  readonly #isPaper: boolean
  readonly #isByOther: boolean

  constructor(pack: Pack, sealing: Sealing, language: Language, text: NoticeText | null) {
    const { history, notice, receipt, record } = pack
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
    this.#overruled = new Set(receipt?.newer_answers.map(({ purpose }) => purpose))
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
      { heading: null, blocks: this.#verdict() },
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

  #verdict(): Block[] {
    const { history, receipt, record } = this.#pack
    const restored = history.findLast(({ action }) => action === 'restored' || action === 'restored_despite_erasure')
    const deletion = restored
      ? this.#say('restored', { date: this.#date(restored.created_at) })
      : this.#say('never_deleted')
    const sentences = [
      this.#comparison(),
      ...this.#confirmation(),
      ...(record.deleted_at ? [] : [deletion]),
      this.#say('as_of', { date: this.#date(receipt?.issued_at ?? this.#sealing.createdAt) }),
    ]
    return [
      { kind: 'verdict', items: record.deleted_at ? this.#deletion(record.deleted_at) : this.#consents() },
      { kind: 'sentences', items: sentences },
    ]
  }

  #deletion(at: string): Words[] {
    const purge = this.#pack.history.findLast(({ action }) => action === 'purged')
    const values = { date: this.#date(at), purged: this.#date(purge?.created_at ?? '') }
    const own = this.#ownAnswers().map(({ words }) => words)
    return [this.#say(purge ? 'deleted_purged' : 'deleted', values), this.#say('before', { what: join(own, '; ') })]
  }

  #consents(): Words[] {
    const { receipt } = this.#pack
    const end = this.#date(receipt?.expires_at ?? '')
    const own = this.#ownAnswers()
    const answers = [...own, ...this.#newerAnswers()]
    const isStanding = own.some(({ verdict }) => verdict === 'stands')
    const period = isStanding ? [this.#say(receipt?.expires_at ? 'valid_until' : 'valid_without_end', { end })] : []
    return verdicts.flatMap(verdict => {
      const what = answers.filter(each => each.verdict === verdict).map(({ words }) => words)
      if (what.length === 0) return []
      return [this.#say(verdict, { what: join(what, '; '), end }), ...(verdict === 'stands' ? period : [])]
    })
  }

  /** Without what newer answers overrule. After a purge without known answers only `accepted` is left. */
  #ownAnswers(): Answer[] {
    const { history, receipt } = this.#pack
    const last = history.findLast(isAnswer) ?? history[0]
    const lastAnswer = (key: 'accepted' | 'accepted_unknown' | 'not_accepted'): Answer => ({
      verdict: 'stands_not',
      words: this.#say(key, { date: this.#when(last) }),
    })
    if (this.#isUnknown) return [lastAnswer(last.accepted ? 'accepted_unknown' : 'not_accepted')]
    const given = receipt?.consent_status === 'dpv:ConsentExpired' ? 'ended' : 'stands'
    const ranked = this.#rankPurposes()
    const named = ranked.filter(({ title }) => title !== undefined)
    const all = named.length > 0 ? named : ranked
    const purposes = all.filter(({ purpose }) => !this.#overruled.has(purpose))
    if (all.length === 0 && !this.#overruled.has(null)) return [this.#wholeAnswer(given)]
    const isAcceptedOnly = this.#wholeState === 'given' && !all.some(({ state }) => state === 'given')
    return [
      ...(isAcceptedOnly && purposes.length > 0 ? [lastAnswer('accepted')] : []),
      ...purposeStates.flatMap((state): Answer[] => {
        const list = purposes
          .filter(each => each.state === state)
          .map(({ purpose, title = purpose, since }) => {
            const entry = since === null ? undefined : history[since]
            return this.#purposeOn(title, entry && this.#when(entry))
          })
        if (list.length === 0) return []
        return [{ verdict: state === 'given' ? given : 'stands_not', words: this.#answerFor(state, list) }]
      }),
    ]
  }

  /** Of a record without purposes, since the first of its last entries that are all in this state. */
  #wholeAnswer(given: Verdict): Answer {
    const { history } = this.#pack
    const state = this.#wholeState
    const entry = history[this.#consent.events.findLastIndex(event => event.state !== state) + 1] ?? history[0]
    const words = this.#say('whole', { state: this.#say(`state_${state}`), date: this.#when(entry) })
    return { verdict: state === 'given' ? given : 'stands_not', words }
  }

  get #wholeState(): ConsentState {
    return this.#consent.events.at(-1)?.state ?? 'refused'
  }

  /** Of other records. */
  #newerAnswers(): Answer[] {
    const newer = this.#pack.receipt?.newer_answers ?? []
    const titles = new Map(this.#rankPurposes().map(({ purpose, title }) => [purpose, title]))
    const answers = newer.map(({ purpose, answered_at, state }): Answer => {
      const key = state ?? 'unchecked'
      const date = this.#date(answered_at)
      const isGiven = state === 'given' || state === 'partly'
      const verdict = state === null ? 'stands_unknown' : isGiven ? 'stands' : 'stands_not'
      if (purpose === null) return { verdict, words: this.#say('whole', { state: this.#say(`state_${key}`), date }) }
      return { verdict, words: this.#answerFor(key, [this.#purposeOn(titles.get(purpose) ?? purpose, date)]) }
    })
    return verdicts.flatMap(verdict => {
      const some = answers.filter(each => each.verdict === verdict).map(({ words }) => words)
      if (some.length === 0) return []
      return [{ verdict, words: this.#say('newer_answers', { answers: this.#list(some, maxNewer) }) }]
    })
  }

  #answerFor(state: string, purposes: readonly Words[]): Words {
    const word = this.#say(`state_${state}` as TextKey)
    return this.#say('for', { state: word, purposes: this.#list(purposes, maxListed) })
  }

  #purposeOn(name: string, date: Words | undefined): Words {
    const purpose = shorten(name)
    return date ? this.#say('purpose_on', { purpose, date }) : this.#say('purpose_named', { purpose })
  }

  #comparison(): Words {
    const { receipt, record } = this.#pack
    if (!receipt || record.subject_id === null) return this.#say('newer_not_searched')
    if (receipt.compared_records === null) return this.#say('newer_not_compared')
    return this.#say(this.#overruled.size > 0 ? 'newer' : 'no_newer', { count: receipt.compared_records - 1 })
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

  /** The first ones, and how many more there are. */
  #list(all: readonly Words[], max: number): Words {
    const rest = all.length - max
    const more = rest > 0 ? [this.#say('others', { count: rest })] : []
    return join([...all.slice(0, max), ...more], ', ')
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
    const { history, notice } = this.#pack
    const purposes = this.#rankPurposes()
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
        this.#overruled.has(key) ? this.#say('overruled', { state: words }) : words,
        entry ? this.#when(entry) : [],
      ]
    })
    const rest = rows.length - maxPurposes
    const more = rest > 0 ? [[this.#say('more_purposes', { count: rest }), [], []]] : []
    const head = [this.#say('purpose'), this.#say('state'), this.#say('since')]
    return [{ kind: 'table', head, rows: [...rows.slice(0, maxPurposes), ...more] }]
  }

  /** First those of the notice with their titles, in the language or else the first. */
  #rankPurposes(): TitledPurpose[] {
    const titles = new Map<string, string>()
    for (const { key, title, language } of this.#pack.notice?.manifest.purposes ?? []) {
      const isBetter = language !== null && findLanguage(language) === this.#language
      if (!titles.has(key) || isBetter) titles.set(key, title)
    }
    const purposes = this.#consent.purposes.map(each => ({ ...each, title: titles.get(each.purpose) }))
    return purposes.sort((one, other) => Number(one.title === undefined) - Number(other.title === undefined))
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
      entry.gpc ? this.#say('with_gpc', { event: this.#event(entry) }) : this.#event(entry),
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
    const { method, given_by, ...told } = entry.circumstances
    const values = (['channel', 'form', 'relation', 'reference'] as const).flatMap(name =>
      told[name] === undefined ? [] : [this.#say(`told_${name}`, { value: cut([{ value: told[name] }], maxCell) })],
    )
    const how = [
      ...(isOneOf(methods, method) ? [this.#say(`method_${method}`)] : []),
      ...(isOneOf(givers, given_by) ? [this.#say(`given_by_${given_by}`)] : []),
      ...values,
    ]
    return how.length === 0 ? [] : [this.#say('told', { date: this.#when(entry), how: join(how, '; ') })]
  }

  #event({ action, erased }: Entry): Words {
    return this.#say(`event_${action === 'deleted' && erased ? 'erased' : action}` as TextKey)
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
      receipt ? this.#say('proved_receipt', { date: this.#date(receipt.issued_at) }) : this.#say('no_receipt'),
      this.#place(),
      ...(notice ? [this.#say('proved_notice')] : []),
      ...(hasStamp ? [this.#say('proved_stamp')] : []),
    ]
  }

  #place(): Words {
    const { checkpoints, checkpoint, history, last } = this.#pack
    const { before, after } = findBracket([...checkpoints.map(each => each.checkpoint), checkpoint], last.leaf_index)
    const dates = { after: this.#date(after.created_at), before: this.#date(before?.created_at ?? '') }
    const values = { ...dates, version: last.version, event: this.#event(history.at(-1) ?? history[0]) }
    return this.#say(before ? 'proved_between' : 'proved_by', values)
  }

  #lacks(): Words[] {
    const { history, receipt, notice } = this.#pack
    const isDeletedByOther = history.some(entry => entry.action === 'deleted' && isOfOther(entry))
    return [
      this.#say('not_person'),
      this.#say('not_law'),
      ...(notice ? [this.#say('not_read')] : []),
      ...(notice && this.#isPaper ? [this.#say('not_form')] : []),
      ...(this.#isByOther ? [this.#say('not_guardian')] : []),
      ...(this.#isImported ? [this.#say('not_import')] : []),
      ...(this.#isWithdrawnByOther() ? [this.#say('not_withdrawal')] : []),
      ...(isDeletedByOther ? [this.#say('not_deletion')] : []),
      ...(this.#sealing.presented ? [this.#say('not_presenter')] : []),
      this.#say('not_later', { date: this.#date(receipt?.issued_at ?? this.#sealing.createdAt) }),
      this.#say('not_keys'),
    ]
  }

  #isWithdrawnByOther(): boolean {
    const { events } = this.#consent
    return events.some(({ state, changed }, index) => {
      const isWhole = state === 'withdrawn' && events[index - 1]?.state !== 'withdrawn'
      const entry = this.#pack.history[index]
      return entry && isOfOther(entry) && (isWhole || changed.some(each => each.state === 'withdrawn'))
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

/** It did not come with the token of the site, which browsers have. */
function isOfOther({ changed_by }: Entry): boolean {
  return changed_by !== 'site_token'
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
