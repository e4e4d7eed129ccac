-- Accounts, who may act for them, and what they own. Run first, because most tables reference these.
--
-- Rules of every file: account_id leads each key of a tenant's table, so that a statement reaches one shard of a distributed
-- database. Instants are those of the node that wrote the row, in milliseconds; nothing is computed here. A table whose rows the
-- statement of a new account writes is deferred: on Citus each part of it is a statement of its own, and the account's the last.

create table accounts (
  account_id uuid primary key,
  plan text not null check (plan in ('unlimited', 'free', 'pro')),
  monthly_quota bigint check (monthly_quota >= 0), -- requests a calendar month; null is unlimited
  entries integer not null default 0, -- version of the last of account_entries
  entries_head bytea, -- its hash; null if there is none
  checkpoint_size bigint not null default 0, -- tree_size of the newest checkpoint: a missing one shows
  created_at timestamptz(3) not null
);

-- The administrators' log: who changed which setting of an account, when, from what and to what. Each entry is a leaf of the
-- account's log, under the account's own id, and its hash there is the SHA-256 of exactly the text of its document.
create table account_entries (
  account_id uuid not null references accounts deferrable initially deferred,
  version integer not null check (version >= 1),
  document text not null,
  created_at timestamptz(3) not null, -- as in the document
  primary key (account_id, version)
);

-- The target's id is the last such text of a document. An evidence pack reads the newest entries about a few targets.
create index account_entries_by_target on account_entries
  (account_id, (substring(document from '.*"target": [{]"id": "([0-9a-f-]{36})"')), version);

-- What each role may do is said by the contract (src/contract/roles.ts).
create table users (
  account_id uuid not null references accounts deferrable initially deferred,
  id uuid not null,
  password_hash text not null,
  role text not null default 'owner' check (role in ('owner', 'operator', 'publisher', 'reader')),
  session_version integer not null default 1, -- raised by a sign-out and a new password, which ends older sessions
  created_at timestamptz(3) not null,
  primary key (account_id, id)
);

-- The user of an e-mail address: the only look-up without an account. Copied to every node of a distributed database, so it
-- has no foreign key into the tenants' tables.
create table logins (
  email text primary key check (email = lower(email)),
  account_id uuid not null,
  user_id uuid not null
);
create index logins_by_user on logins (account_id, user_id);

create table sites (
  account_id uuid not null references accounts deferrable initially deferred,
  id uuid not null,
  name text not null,
  policy_version integer not null default 1 check (policy_version >= 1),
  allowed_origins jsonb not null default '[]',
  retention jsonb check (retention ?& '{period,after}'), -- when records are deleted: an ISO 8601 period after an event; null is never
  sealed_proof jsonb check (sealed_proof ?& '{basis,period,since}'), -- what a purge keeps of a person whose record was deleted since: why, and for how long after the deletion
  strict_notices boolean not null default false, -- a consent needs a published notice of its policy version
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  archived_at timestamptz(3), -- from then on it takes no records, and its tokens are refused; null of a site in use
  primary key (account_id, id)
);

-- Tokens of the public banner endpoint. A site has one without an end, and rotated ones until they end.
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

create table api_keys (
  account_id uuid not null references accounts deferrable initially deferred,
  id uuid not null,
  name text not null,
  key_hash bytea not null, -- SHA-256 of the key's text
  hint text, -- the last characters of the key's text
  scopes jsonb not null default '["read","write","erase"]',
  site_ids jsonb, -- the sites whose records it reaches; null is every site
  created_by uuid, -- the user, who may be gone; null for the command that created the account
  last_used_on date, -- UTC
  created_at timestamptz(3) not null,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  primary key (account_id, id),
  unique (account_id, key_hash)
);

-- The monthly quota. `used` counts granted units: those spent, and those that nodes hold in memory as leases.
create table usage (
  account_id uuid not null references accounts,
  month date not null, -- its first day, UTC
  used bigint not null,
  held bigint not null default 0, -- units of leases that no node has settled yet
  held_until timestamptz(3), -- when the last of them ends
  granted bigint not null default 0, -- units of the last lease
  monthly_quota bigint, -- the account's limit at the last lease, so that no other statement of a request reads accounts
  primary key (account_id, month)
);

-- Secrets that all nodes share, each created at the first start.
create table secrets (
  name text primary key,
  value bytea not null
);
