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
    'allowed_origins', s.allowed_origins, 'retention_days', s.retention_days, 'strict_notices', s.strict_notices,
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
