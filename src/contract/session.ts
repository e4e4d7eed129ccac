import * as z from 'zod'
import { endpoint, type HeaderDocs, NoQuery, type ResourceDocs } from './endpoint.ts'
import { everyRole, roles } from './roles.ts'
import { Id, Timestamp, text } from './values.ts'

const path = '/api/v1/session'

export const Credentials = z.strictObject({ email: text(1, 254), password: text(1, 1024) })
export type Credentials = z.output<typeof Credentials>

export const Session = z.object({
  account_id: Id,
  user: z.object({
    id: Id,
    email: z.string(),
    role: z
      .string()
      .default('owner')
      .meta({ enum: [...roles] }),
  }),
  expires_at: Timestamp,
})
export type Session = z.output<typeof Session>

/** Service specification section 5: a JWT in a cookie. */
export const session = {
  create: endpoint({
    summary: 'Sign in with e-mail and password; the session comes as a cookie',
    method: 'POST',
    path,
    access: 'anyone',
    query: NoQuery,
    body: Credentials,
    status: 201,
    response: Session,
    errors: ['unauthorized', 'forbidden', 'rate_limited'],
  }),
  get: endpoint({
    summary: 'Get the signed-in user and the end of the session',
    method: 'GET',
    path,
    access: 'session',
    roles: everyRole,
    query: NoQuery,
    status: 200,
    response: Session,
  }),
  remove: endpoint({
    summary: 'Sign out: every session of the user ends, on every node',
    method: 'DELETE',
    path,
    access: 'session',
    roles: everyRole,
    query: NoQuery,
    status: 204,
    response: z.null(),
  }),
}

const setCookie: HeaderDocs = {
  description:
    'The session: `__Host-consent_session`, or `consent_session` if the service is on localhost without TLS.',
  required: true,
  schema: { type: 'string', pattern: '^(__Host-)?consent_session=' },
  example: '__Host-consent_session=eyJhbGciOiJIUzI1NiJ9.EXAMPLE; Max-Age=28800; Path=/; HttpOnly; Secure; SameSite=Lax',
}

export const sessionDocs: ResourceDocs<typeof session> = {
  description: 'Signing in and out.',
  endpoints: {
    create: {
      description:
        'Needs HTTPS, except on localhost. A page must be of the service itself. A wrong e-mail and a wrong password get the same response.',
      success: 'Signed in.',
      responseHeaders: { 'Set-Cookie': setCookie },
    },
    remove: { success: 'Signed out.', responseHeaders: { 'Set-Cookie': setCookie } },
  },
}
