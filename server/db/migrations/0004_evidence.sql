-- A history that nobody changes quietly, and data that goes for good.

-- When the personal data went; the record's skeleton stays, and so do its hashes.
alter table consents add column purged_at timestamptz(3);
create index consents_to_purge on consents (account_id, deleted_at) where deleted_at is not null and purged_at is null;

-- After so many days without a change a site's records are deleted; null is never.
alter table sites add column retention_days integer check (retention_days >= 1);

-- Every audit entry once more, by its hash alone: what a checkpoint covers are its first leaves. Written in one statement
-- with the entry, and without a foreign key: it tells what was there when the entry is not.
create table log_entries (
  account_id uuid not null,
  consent_id uuid not null,
  version integer not null,
  hash bytea not null,
  leaf_index bigint, -- from 0, in each account; null until it is the log's turn to take it
  primary key (account_id, consent_id, version)
);
create unique index log_entries_by_leaf on log_entries (account_id, leaf_index) where leaf_index is not null;
create index log_entries_new on log_entries (account_id, consent_id, version) where leaf_index is null;
insert into log_entries (account_id, consent_id, version, hash)
  select account_id, consent_id, version, hash from consent_history;

-- The signed root of an account's first leaves (RFC 9162 section 2.1).
create table checkpoints (
  account_id uuid not null references accounts,
  tree_size bigint not null,
  from_size bigint not null, -- of the one it goes on from, else 0: of nodes that go on from the same one, one can
  root_hash bytea not null,
  frontier bytea not null, -- the roots of the largest full subtrees: what the next one goes on from
  document text not null, -- as it was signed
  created_at timestamptz(3) not null,
  primary key (account_id, tree_size),
  unique (account_id, from_size)
);

-- The public keys that this service has ever signed with (Ed25519, 32 bytes), by their thumbprint (RFC 7638).
create table signing_keys (
  key_id text primary key,
  public_key bytea not null,
  created_at timestamptz(3) not null
);

-- A key is kept by its SHA-256 in hexadecimal alone: where its record is purged it stays for the rest of its 24 hours, so
-- that a retry does not make the record anew, and is then without the body's hash.
update idempotency_keys set key = encode(sha256(convert_to(key, 'UTF8')), 'hex');
