import type { Endpoint } from '../../src/contract/index.ts'

/** The ways to say who one is. */
export const securitySchemes = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'sk-…',
    description:
      'An API key, for programs. It takes a unit of the monthly quota a request, and needs the scope that the operation ' +
      'names. An Authorization header decides alone, even where its key is a bad one.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-consent_session',
    description:
      'The session of a user who signed in, for 8 hours. It takes nothing of the quota and has every scope. What is not ' +
      'a GET must come from a page of the service itself, by its Origin or its Sec-Fetch-Site: same-origin.',
  },
  sessionOnLocalhost: {
    type: 'apiKey',
    in: 'cookie',
    name: 'consent_session',
    description: 'The same, where the service is on localhost without TLS.',
  },
  siteToken: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Site-Token',
    description:
      'The token of a site, `st-…`, which its pages carry; it can write consents and read nothing.',
  },
} as const

/** Which of them an endpoint takes; a key with the scope that it needs. */
export function securityOf({
  access,
  scope,
}: Endpoint): Partial<Record<keyof typeof securitySchemes, string[]>>[] {
  const sessions = [{ session: [] }, { sessionOnLocalhost: [] }]
  switch (access) {
    case 'anyone':
      return []
    case 'account':
      return [{ apiKey: scope ? [scope] : [] }, ...sessions]
    case 'session':
      return sessions
    case 'site_token':
      return [{ siteToken: [] }]
  }
}
