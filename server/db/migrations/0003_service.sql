-- Sessions, scopes and hints of keys, tokens of sites that rotate, and leases of the monthly quota.

-- A session's token names the version it was made at: signing out and a new password raise it, and end them all.
alter table users add column session_version integer not null default 1;

create index logins_by_user on logins (account_id, user_id);

alter table api_keys
  add column hint text, -- the last characters of the key's text
  add column scopes jsonb not null default '["read","write","erase"]',
  add column last_used_on date; -- UTC

alter table sites
  add column allowed_origins jsonb not null default '[]',
  add column updated_at timestamptz(3);
update sites set updated_at = created_at;
alter table sites alter column updated_at set not null;

-- A site has one token without an end, and those before it until they end.
create table site_tokens (
  account_id uuid not null,
  site_id uuid not null,
  token_hash bytea not null, -- SHA-256 of the token's text
  created_at timestamptz(3) not null,
  expires_at timestamptz(3),
  primary key (account_id, site_id, token_hash),
  foreign key (account_id, site_id) references sites
);
create unique index site_tokens_present on site_tokens (account_id, site_id) where expires_at is null;
insert into site_tokens (account_id, site_id, token_hash, created_at)
  select account_id, id, token_hash, created_at from sites;
alter table sites drop column token_hash;

-- `used` counts the units that were granted: those that are spent, and those that nodes hold in memory as leases.
alter table usage
  add column held bigint not null default 0, -- units of leases that no node has settled yet
  add column held_until timestamptz(3), -- when the last of them ends
  add column granted bigint not null default 0; -- units of the last lease
