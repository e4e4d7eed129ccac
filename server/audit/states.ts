// Settings in entries of the administrators' log, with digests of secrets.

import type { Fragment, Sql } from 'postgres'
import { instant, staticFragment } from '../db/fragments.ts'

/** Row `a` of accounts. */
export const accountState = staticFragment(
  sql => sql`jsonb_build_object('plan', a.plan, 'monthly_quota', a.monthly_quota,
    'created_at', ${instant(sql, sql`a.created_at`)})`,
)

/** Member for a row `u` of users. */
export const passwordState = staticFragment(
  sql => sql`'password_sha256', encode(sha256(convert_to(u.password_hash, 'UTF8')), 'hex')`,
)

/** Row `u` of users with a row `l` of logins. */
export const userState = staticFragment(
  sql => sql`jsonb_build_object('id', u.id, 'email', l.email, 'role', u.role, ${passwordState(sql)},
    'created_at', ${instant(sql, sql`u.created_at`)})`,
)

/** Row `s` of sites, without its tokens. */
export const siteState = staticFragment(
  sql => sql`jsonb_build_object('id', s.id, 'name', s.name, 'policy_version', s.policy_version,
    'allowed_origins', s.allowed_origins, 'retention', s.retention, 'sealed_proof', s.sealed_proof, 'strict_notices', s.strict_notices,
    'created_at', ${instant(sql, sql`s.created_at`)}, 'updated_at', ${instant(sql, sql`s.updated_at`)},
    'archived_at', ${instant(sql, sql`s.archived_at`)})`,
)

/** Aggregates rows `t` of site_tokens. */
export const tokensState = staticFragment(
  sql => sql`jsonb_build_object('tokens', coalesce(jsonb_agg(
    jsonb_build_object('token_sha256', encode(t.token_hash, 'hex'), 'created_at', ${instant(sql, sql`t.created_at`)},
      'expires_at', ${instant(sql, sql`t.expires_at`)}) order by t.token_hash), '[]'))`,
)

/** Row `k` of api_keys, without the day of its last use. */
export const keyState = staticFragment(
  sql => sql`jsonb_build_object('id', k.id, 'name', k.name, 'hint', k.hint, 'scopes', k.scopes, 'site_ids', k.site_ids, 'created_by', k.created_by,
    'key_sha256', encode(k.key_hash, 'hex'), 'created_at', ${instant(sql, sql`k.created_at`)},
    'expires_at', ${instant(sql, sql`k.expires_at`)}, 'revoked_at', ${instant(sql, sql`k.revoked_at`)})`,
)

/** Row `r` of subject_requests, without what could name the person: a digest covers that. */
export const requestState = staticFragment(
  sql => sql`jsonb_build_object('id', r.id, 'version', r.version, 'kind', r.kind, 'state', r.state,
    'received_on', ${day(sql, sql`r.received_on`)}, 'due_on', ${day(sql, sql`r.due_on`)},
    'extended_at', ${instant(sql, sql`r.extended_at`)}, 'outcome', r.outcome,
    'closed_at', ${instant(sql, sql`r.closed_at`)}, 'purge_due_on', ${day(sql, sql`r.purge_due_on`)},
    'purged_on', ${day(sql, sql`r.purged_on`)}, 'receipts', r.receipts,
    'details_sha256', ${detailsDigest(sql, {
      ticket: sql`r.ticket`,
      hmacs: sql`r.subject_hmacs`,
      assignee: sql`r.assignee`,
      reasons: sql`r.extension_reason, r.outcome_reason`,
    })},
    'created_at', ${instant(sql, sql`r.created_at`)}, 'updated_at', ${instant(sql, sql`r.updated_at`)})`,
)

function day(sql: Sql, date: Fragment): Fragment {
  return sql`coalesce(to_char(${date}, 'YYYY-MM-DD'), ${date}::text)`
}

interface RequestDetails {
  readonly ticket: Fragment
  /** A JSON array, in any order. */
  readonly hmacs: Fragment
  readonly assignee: Fragment
  /** Of the extension and of the outcome, separated by a comma. */
  readonly reasons: Fragment
}

/** Nobody can guess a detail from it, because the HMACs are keyed. */
export function detailsDigest(sql: Sql, { ticket, hmacs, assignee, reasons }: RequestDetails): Fragment {
  return sql`encode(sha256(convert_to(jsonb_build_array(${ticket}, (
      select jsonb_agg(hmac order by hmac collate "C") from jsonb_array_elements_text(
        case when jsonb_typeof(${hmacs}) = 'array' then ${hmacs} else jsonb_build_array(${hmacs}) end) as hmacs (hmac)),
    ${assignee}, ${reasons})::text, 'UTF8')), 'hex')`
}

/** Row `d` of operator_documents, without what could name the person: a digest covers that. */
export const documentState = staticFragment(
  sql => sql`jsonb_build_object('id', d.id, 'sha256', encode(sha256(convert_to(d.document, 'UTF8')), 'hex'),
    'stored_sha256', encode(d.sha256, 'hex'), 'type', d.type, 'number', d.number, 'key_id', d.key_id,
    'public_key', encode(d.public_key, 'base64'), 'details_sha256', ${detailsDigest(sql, {
      ticket: sql`d.ticket`,
      hmacs: sql`d.subject_hmacs`,
      assignee: sql`null`,
      reasons: sql`null`,
    })},
    'created_at', ${instant(sql, sql`d.created_at`)})`,
)

/** Row `h` of holds. */
export const holdState = staticFragment(
  sql => sql`jsonb_build_object('id', h.id, 'subject_hmac', encode(h.subject_hmac, 'hex'), 'reason', h.reason,
    'ticket', h.ticket, 'held_until', ${instant(sql, sql`h.held_until`)},
    'created_at', ${instant(sql, sql`h.created_at`)})`,
)

/**
 * Row `w` of webhooks, without its progress, secrets and the secret parts of its URL. Digests cover URL and secret:
 * nobody can guess a password in the URL, because the secret is in its digest, too.
 */
export const webhookState = staticFragment(
  sql => sql`jsonb_build_object('id', w.id, 'url', ${shownUrl(sql)}, 'url_sha256', encode(sha256(w.secret || convert_to(w.url, 'UTF8')), 'hex'),
    'types', w.types, 'site_ids', w.site_ids, 'signature', w.signature, 'secret_sha256', encode(sha256(w.secret), 'hex'),
    'failing_since', ${instant(sql, sql`w.failing_since`)},
    'paused_at', ${instant(sql, sql`w.paused_at`)}, 'rewound', w.rewound,
    'created_at', ${instant(sql, sql`w.created_at`)})`,
)

/** Of a row `w` of webhooks: without user, password, query and fragment. */
export const shownUrl = staticFragment(
  sql => sql`regexp_replace(regexp_replace(w.url, '[?#].*$', ''), '^([a-z]+://)[^/]*@', '\\1')`,
)

/** Row `n` of notices, with the stored digests of its texts. */
export function noticeState(sql: Sql, accountId: string): Fragment {
  return manifest(sql, noticeTexts(sql, accountId))
}

/** Row `n` of notices with digests of the texts' bytes, null where the stored one differs. */
export function verifiedNoticeState(sql: Sql, accountId: string): Fragment {
  const digest = sql`case when t.sha256 = sha256(t.content) then encode(t.sha256, 'hex') end`
  return manifest(sql, texts(sql, accountId, digest))
}

function manifest(sql: Sql, ofTexts: Fragment): Fragment {
  return sql`jsonb_build_object('site_id', n.site_id, 'policy_version', n.policy_version,
    'texts', ${ofTexts}, 'purposes', n.purposes, 'controller', n.controller, 'valid_for', n.valid_for,
    'requires_renewal', n.requires_renewal, 'effective_from', ${instant(sql, sql`n.effective_from`)})`
}

export function noticeTexts(sql: Sql, accountId: string): Fragment {
  return texts(sql, accountId, sql`encode(t.sha256, 'hex')`)
}

/** The account is a value: from a row, Citus would ask every shard. */
function texts(sql: Sql, accountId: string, digest: Fragment): Fragment {
  return sql`(select coalesce(jsonb_agg(jsonb_build_object('language', t.language, 'media_type', t.media_type,
      'size', octet_length(t.content), 'sha256', ${digest}) order by t.language collate "C"), '[]')
    from notice_texts t
    where t.account_id = ${accountId} and t.site_id = n.site_id and t.policy_version = n.policy_version)`
}
