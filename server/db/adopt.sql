-- Writes the first entry of each account without one: the account as it is. Run after the migration 0015 and by an import of
-- an export from before it. The names are those of server/audit/states.ts.
insert into account_entries (account_id, version, document, created_at)
select a.account_id, 1, jsonb_build_object(
    'type', 'account_entry', 'version', 1, 'account_id', a.account_id, 'previous', null,
    'at', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'actor', jsonb_build_object('kind', 'system', 'id', null), 'action', 'adopted',
    'target', jsonb_build_object('kind', 'account', 'id', a.account_id), 'before', null,
    'after', jsonb_build_object(
      'plan', a.plan, 'monthly_quota', a.monthly_quota,
      'created_at', to_char(a.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'users', coalesce((
        select jsonb_agg(jsonb_build_object(
          'id', u.id, 'email', l.email, 'role', u.role,
          'password_sha256', encode(sha256(convert_to(u.password_hash, 'UTF8')), 'hex'),
          'created_at', to_char(u.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by u.id)
        from users u left join logins l on l.account_id = u.account_id and l.user_id = u.id
        where u.account_id = a.account_id), '[]'),
      'sites', coalesce((
        select jsonb_agg(jsonb_build_object(
          'id', s.id, 'name', s.name, 'policy_version', s.policy_version, 'allowed_origins', s.allowed_origins,
          'retention_days', s.retention_days,
          'created_at', to_char(s.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'updated_at', to_char(s.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'tokens', coalesce(t.tokens, '[]')) order by s.id)
        from sites s left join (
          select account_id, site_id, jsonb_agg(jsonb_build_object(
            'token_sha256', encode(token_hash, 'hex'),
            'created_at', to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
            'expires_at', to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by token_hash)
            as tokens
          from site_tokens group by account_id, site_id
        ) as t on t.account_id = s.account_id and t.site_id = s.id
        where s.account_id = a.account_id), '[]'),
      'keys', coalesce((
        select jsonb_agg(jsonb_build_object(
          'id', k.id, 'name', k.name, 'hint', k.hint, 'scopes', k.scopes, 'key_sha256', encode(k.key_hash, 'hex'),
          'created_at', to_char(k.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'expires_at', to_char(k.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'revoked_at', to_char(k.revoked_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by k.id)
        from api_keys k where k.account_id = a.account_id), '[]')),
    'nonce', replace(gen_random_uuid()::text, '-', ''))::text, date_trunc('milliseconds', now()) -- the column rounds, to_char does not
from accounts a where a.entries = 0;

insert into log_entries (account_id, consent_id, version, hash)
select e.account_id, e.account_id, 1, sha256(convert_to(e.document, 'UTF8'))
from account_entries e join accounts a on a.account_id = e.account_id where a.entries = 0;

update accounts a set entries = 1, entries_head = sha256(convert_to(e.document, 'UTF8'))
from account_entries e where e.account_id = a.account_id and e.version = 1 and a.entries = 0;
