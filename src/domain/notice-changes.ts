import type { Notice, NoticeManifest, NoticePurpose, NoticeText } from '../contract/notices.ts'

export type Manifest = Pick<
  NoticeManifest,
  'texts' | 'purposes' | 'controller' | 'valid_for' | 'requires_renewal' | 'effective_from'
>

/** Lines for added `+`, removed `-` and changed `~`; all is new if `before` is null. */
export function describeChanges(before: Manifest | null, after: Manifest): string[] {
  return [
    ...differences(before?.texts ?? [], after.texts, ({ language }) => language, describeText),
    ...differences(before?.purposes ?? [], after.purposes, purposeName, describePurpose),
    ...(['controller', 'valid_for', 'effective_from', 'requires_renewal'] as const).flatMap(name => {
      const [old, present] = [before?.[name] ?? null, after[name]]
      if (old === present || (!before && present === null)) return []
      return `~ ${name}: ${present}${before ? ` (was ${old})` : ''}`
    }),
  ]
}

function differences<Item>(
  before: readonly Item[],
  after: readonly Item[],
  nameOf: (item: Item) => string,
  describe: (item: Item) => string,
): string[] {
  const old = new Map(before.map(item => [nameOf(item), describe(item)]))
  const present = new Map(after.map(item => [nameOf(item), describe(item)]))
  const isChanged = ([name, text]: [string, string]) => old.get(name) !== text
  return [
    ...[...present].filter(isChanged).map(([name, text]) => `${old.has(name) ? '~' : '+'} ${text}`),
    ...[...old].filter(([name]) => !present.has(name)).map(([, text]) => `- ${text}`),
  ]
}

function describeText({ language, media_type, size, sha256 }: NoticeText): string {
  return `text ${language}: ${media_type}, ${size} bytes, sha256 ${sha256}`
}

function purposeName({ key, language }: NoticePurpose): string {
  return JSON.stringify([key, language])
}

function describePurpose({ key, title, language, iri }: NoticePurpose): string {
  return `purpose ${key}${language === null ? '' : ` (${language})`}: ${title}${iri === null ? '' : ` <${iri}>`}`
}

export function isSame(before: Notice | undefined, after: Manifest): boolean {
  return before !== undefined && describeChanges(before, after).length === 0
}
