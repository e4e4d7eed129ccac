import * as z from 'zod'
import { endpoint, NoQuery, type ResourceDocs } from './endpoint.ts'
import { optional } from './values.ts'

/** JWK (RFC 7517, RFC 8037 section 2); `pem` is for openssl. */
export const SigningKey = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string().meta({ pattern: '^[\\w-]{43}$' }).describe('The 32 bytes of the key, in base64url.'),
  kid: z
    .string()
    .meta({ pattern: '^[\\w-]{43}$' })
    .describe('Its thumbprint (RFC 7638): the key_id of documents that it signs.'),
  use: z.literal('sig'),
  alg: z.literal('EdDSA'),
  pem: z
    .string()
    .meta({ pattern: '^-----BEGIN PUBLIC KEY-----\\n[\\w+/=]+\\n-----END PUBLIC KEY-----\\n$' })
    .describe('The same as SubjectPublicKeyInfo (RFC 8410).'),
  statement: optional(z.string()).describe('The signed document by which the key before it introduces this one.'),
  revocation: optional(z.string()).describe('The signed document that revokes it; null if it is in use.'),
})

export const signingKeys = {
  list: endpoint({
    summary: 'List the public keys that the service signs and has signed with, the current one first',
    method: 'GET',
    path: '/.well-known/consent-keys.json',
    access: 'anyone',
    query: NoQuery,
    status: 200,
    response: z.object({ keys: z.array(SigningKey) }),
  }),
}

export const signingKeysDocs: ResourceDocs<typeof signingKeys> = {
  description: 'The keys that verify signed documents of the service.',
  endpoints: {
    list: {
      description:
        'A JWK Set (RFC 7517). Each key chains to the first one: by statements that one key signs about the next. Store the keys before you need them: keys that arrive with a document prove less.',
    },
  },
}
