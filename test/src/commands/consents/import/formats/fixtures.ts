import { readFileSync } from 'node:fs'
import type { FormatName } from '../../../../../../src/commands/consents/import/prepare/formats.ts'
import { c15t } from './c15t.ts'
import { commandersAct } from './commanders-act.ts'
import { complianz, cookiebot, cookieyes, onetrust } from './consent-logs.ts'
import { consenti } from './consenti.ts'
import { cookieScript } from './cookie-script.ts'
import { csv } from './csv.ts'
import { didomi } from './didomi.ts'
import { iubenda } from './iubenda.ts'
import { klaro } from './klaro.ts'
import { brevo, hubspot, klaviyo, mailchimp } from './mailing-lists.ts'
import type { Fixture } from './truth.ts'
import { usercentrics } from './usercentrics.ts'

/** Makes files of a format, and what they mean. */
export const makers: Readonly<Record<FormatName, (seed: number, rows: number) => Fixture>> = {
  usercentrics,
  iubenda,
  didomi,
  'cookie-script': cookieScript,
  'commanders-act': commandersAct,
  consenti,
  c15t,
  klaro,
  onetrust,
  cookiebot,
  cookieyes,
  complianz,
  mailchimp,
  hubspot,
  klaviyo,
  brevo,
  csv,
}

const README = readFileSync(
  new URL('../../../../../../src/commands/consents/import/README.md', import.meta.url),
  'utf8',
)
const examples = new Map(
  README.split(/^## /m).map(section => [/^`(.*)`/.exec(section)?.[1], /```json\n(.*?)```/s.exec(section)?.[1]]),
)

/** Returns the example of `--map` in the README's section of a format. */
export function exampleMap(format: FormatName): string {
  return examples.get(format) as string
}
