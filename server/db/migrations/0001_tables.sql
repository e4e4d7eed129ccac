-- The tenant leads every key of its own rows, so that each statement of a request reaches one shard of a distributed database.
-- Instants are those of the node that wrote the row, in milliseconds; nothing is computed here.

create table accounts (
  account_id uuid primary key,
  plan text not null check (plan in ('unlimited', 'free', 'pro')),
  monthly_quota bigint check (monthly_quota >= 0), -- requests a calendar month; null is unlimited
  created_at timestamptz(3) not null
);

create table users (
  account_id uuid not null references accounts,
  id uuid not null,
  password_hash text not null,
  created_at timestamptz(3) not null,
  primary key (account_id, id)
);

-- Who signs in with an e-mail: the one question that comes without a tenant. On every node of a distributed database,
-- and so without a foreign key into the tenants' tables.
create table logins (
  email text primary key check (email = lower(email)),
  account_id uuid not null,
  user_id uuid not null
);

create table sites (
  account_id uuid not null references accounts,
  id uuid not null,
  name text not null,
  token_hash bytea not null, -- SHA-256 of the token's text
  policy_version integer not null default 1 check (policy_version >= 1),
  created_at timestamptz(3) not null,
  primary key (account_id, id),
  unique (account_id, token_hash)
);

create table api_keys (
  account_id uuid not null references accounts,
  id uuid not null,
  name text not null,
  key_hash bytea not null, -- SHA-256 of the key's text
  created_at timestamptz(3) not null,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  primary key (account_id, id),
  unique (account_id, key_hash)
);

create table usage (
  account_id uuid not null references accounts,
  month date not null, -- its first day, UTC
  used bigint not null,
  primary key (account_id, month)
);

-- id is a UUID version 7 whose millisecond is created_at: this one key serves order, cursor and time range.
create table consents (
  account_id uuid not null,
  id uuid not null,
  site_id uuid not null,
  consent_id text,
  subject_id text,
  country text,
  region text,
  user_agent text,
  ip_network cidr, -- the address as kept: truncated unless configured otherwise
  accepted boolean not null,
  preferences jsonb not null,
  policy_version integer not null,
  version integer not null, -- 1 at creation, one more with each change
  record_hash bytea not null, -- of the fields that no update changes; part of the first entry's payload
  chain_head bytea not null, -- the hash of the last entry in consent_history
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  deleted_at timestamptz(3),
  primary key (account_id, id),
  foreign key (account_id, site_id) references sites
);

create index consents_by_site on consents (account_id, site_id, id);
create index consents_by_subject on consents (account_id, subject_id, id) where subject_id is not null;
create index consents_by_consent_id on consents (account_id, consent_id, id) where consent_id is not null;

-- Each entry is the state after its event; hash covers the entry and the hash before it.
create table consent_history (
  account_id uuid not null,
  consent_id uuid not null,
  version integer not null,
  action text not null check (action in ('created', 'updated', 'deleted', 'purged')),
  accepted boolean not null,
  preferences jsonb not null,
  policy_version integer not null,
  changed_by text not null check (changed_by in ('api_key', 'user', 'site_token', 'system')),
  actor_id uuid,
  created_at timestamptz(3) not null,
  salt bytea,
  payload_hash bytea not null,
  hash bytea not null,
  primary key (account_id, consent_id, version),
  foreign key (account_id, consent_id) references consents
);

-- What all nodes must share and nobody else may know, each made once, at the first start.
create table secrets (
  name text primary key,
  value bytea not null
);
