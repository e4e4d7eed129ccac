import { consentRoutes } from '../contract/consent-routes.ts'
import { isExactConsent, isExactPage } from './exact-page.ts'
import type { Target } from './request.ts'

type Name = keyof typeof consentRoutes

function target(name: Name, isExact?: Target['isExact']): Target {
  const response = async () => (await import('../contract/consents.ts')).consents[name].response
  return { ...consentRoutes[name], response, isExact }
}

/** Schemas of records are loaded only when needed: building them takes longer than most commands. */
export const consents: Readonly<Record<Name, Target>> = {
  create: target('create', isExactConsent),
  list: target('list', isExactPage),
  get: target('get', isExactConsent),
  update: target('update', isExactConsent),
  remove: target('remove'),
  history: target('history'),
}
