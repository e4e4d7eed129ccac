// The barest program that does the work of the service: a route each for create, get and list, with the same tables, pool
// and answers, a statement for each request that does what the service's does for one, and no credential, quota, validation,
// hash, metric or log.
import { fastify } from 'fastify'
import type { JSONValue } from 'postgres'
import { v7 } from 'uuid'
import { connect } from '../../server/db/connect.ts'

interface Draft {
  readonly site_id: string
  readonly subject_id: string
  readonly accepted: boolean
  readonly preferences: JSONValue
  readonly policy_version?: number
}

interface Row {
  readonly id: string
  readonly created_at: Date
  readonly updated_at: Date
  readonly deleted_at: Date | null
}

const [url = '', accountId = ''] = process.argv.slice(2)
const sql = connect({ target: { url }, max: 10 })
const app = fastify()
const hash = Buffer.alloc(32, 1)
const salt = Buffer.alloc(16, 1)

app.post<{ Body: Draft }>('/api/v1/consents', async ({ body }, reply) => {
  const [id, at, preferences] = [v7(), new Date(), sql.json(body.preferences)]
  const policy = body.policy_version ?? 1
  const [row] = await sql<Row[]>`
    with e as (
      select ${id}::uuid as id, ${at}::timestamptz as at, ${salt}::bytea as salt, ${hash}::bytea as payload_hash,
        ${hash}::bytea as hash
    ), c as (
      insert into consents as c (
        account_id, id, site_id, consent_id, subject_id, country, region, user_agent, ip_network, accepted,
        preferences, policy_version, version, record_hash, chain_head, created_at, updated_at)
      select s.account_id, e.id, s.id, ${null}::text, ${body.subject_id}::text, ${null}::text, ${null}::text,
        ${null}::text, ${null}::cidr, ${body.accepted}::boolean, ${preferences}::jsonb, ${policy}::integer, 1,
        ${hash}::bytea, e.hash, e.at, e.at
      from e, sites s
      where s.account_id = ${accountId} and s.id = ${body.site_id} and (s.policy_version = ${policy} or ${false})
      returning *
    ), h as (
      insert into consent_history (
        account_id, consent_id, version, action, accepted, preferences, policy_version, changed_by, actor_id,
        created_at, salt, payload_hash, hash)
      select a.account_id, c.id, c.version, ${'created'}, c.accepted, c.preferences, c.policy_version, ${'api_key'},
        ${id}::uuid, e.at, e.salt, e.payload_hash, e.hash
      from c join e on e.id = c.id join accounts a on a.account_id = ${accountId}
    ), l as (
      insert into log_entries (account_id, consent_id, version, hash)
      select a.account_id, c.id, c.version, e.hash
      from c join e on e.id = c.id join accounts a on a.account_id = ${accountId}
    )
    select id, site_id, consent_id, subject_id, country, region, user_agent, accepted, preferences, policy_version,
      created_at, updated_at, deleted_at
    from c`
  reply.code(201)
  return row && shown(row)
})

app.get<{ Params: { id: string } }>('/api/v1/consents/:id', async ({ params }) => {
  const [row] = await sql<Row[]>`
    select id, site_id, consent_id, subject_id, country, region, user_agent, accepted, preferences, policy_version,
      created_at, updated_at, deleted_at
    from consents where account_id = ${accountId} and id = ${params.id} and deleted_at is null`
  return row && shown(row)
})

app.get<{ Querystring: { limit: string } }>('/api/v1/consents', async ({ query }) => {
  const limit = Number(query.limit)
  const rows = await sql<Row[]>`
    select id, site_id, consent_id, subject_id, country, region, user_agent, accepted, preferences, policy_version,
      created_at, updated_at, deleted_at
    from consents where account_id = ${accountId} and deleted_at is null
    order by id desc limit ${limit + 1}`
  const last = rows[limit - 1]
  const cursor = rows.length > limit && last ? Buffer.from(last.id).toString('base64url') : null
  return { data: rows.slice(0, limit).map(shown), limit, next_cursor: cursor }
})

function shown(row: Row) {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    deleted_at: row.deleted_at?.toISOString() ?? null,
  }
}

process.once('SIGTERM', () => process.exit())
await app.listen({ port: Number(process.env['PORT']), host: '127.0.0.1' })
