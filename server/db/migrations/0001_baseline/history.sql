-- The audited history of every record, and the log that makes a change of the past visible.

-- Each entry is the state after its event; hash covers the entry and the hash before it.
create table consent_history (
  account_id uuid not null,
  consent_id uuid not null,
  version integer not null,
  action text not null check (
    action in ('created', 'imported', 'updated', 'deleted', 'purged', 'restored', 'restored_despite_erasure')),
  accepted boolean not null,
  preferences jsonb not null,
  policy_version integer not null,
  changed_by text not null check (changed_by in ('api_key', 'user', 'site_token', 'system')),
  actor_id uuid,
  created_at timestamptz(3) not null,
  given_at timestamptz(3), -- of an imported answer, as reported by the importer
  file_sha256 bytea, -- of the file that it was imported from
  gpc boolean, -- true if the answer came with Sec-GPC: 1, else null
  circumstances jsonb, -- how the answer was given, as reported by the sender; without its personal part after a purge
  erased boolean, -- true of a deletion by an erasure request, else null
  sealed jsonb, -- of a purge: what the holder of the identifier can prove, until an instant; else null
  salt bytea,
  payload_hash bytea not null,
  hash bytea not null,
  primary key (account_id, consent_id, version),
  foreign key (account_id, consent_id) references consents
);

create index consent_history_sealed on consent_history (account_id, (sealed->>'subject_hmac'), consent_id)
  where sealed is not null;
create index consent_history_sealed_until on consent_history (account_id, (sealed->>'until') collate "C", consent_id)
  where sealed is not null;
-- No sample of them stays in the planner's statistics once they are removed.
alter table consent_history alter column sealed set statistics 0;
alter index consent_history_sealed alter column 2 set statistics 0;

-- Every audit entry once more, by its hash alone: the leaves of the account's Merkle tree. Written in one statement with the
-- entry, and without a foreign key: it says what was there when the entry is gone.
create table log_entries (
  account_id uuid not null,
  consent_id uuid not null, -- the account's own id for entries of the administrators' log
  version integer not null,
  hash bytea not null,
  leaf_index bigint, -- from 0, in each account; null until place_leaves gives it one
  is_counted boolean, -- true if statistics counted it before its leaf was placed, because its record was about to be purged
  primary key (account_id, consent_id, version)
);
create unique index log_entries_by_leaf on log_entries (account_id, leaf_index) where leaf_index is not null;
-- In another order than the primary key's, which a plan would take for as good: it reads all entries of the account.
create index log_entries_new on log_entries (account_id, consent_id nulls first, version nulls first) where leaf_index is null;

-- The signed root of an account's first leaves (RFC 9162 section 2.1).
create table checkpoints (
  account_id uuid not null references accounts,
  tree_size bigint not null,
  from_size bigint not null, -- of the one that it extends, else 0: only one can extend another
  root_hash bytea not null,
  frontier bytea not null, -- the roots of the largest full subtrees, which the next one extends
  tiles bytea not null, -- the roots of the full tiles of 256 leaves (C2SP tlog-tiles) that the one before it has not
  document text not null, -- as it was signed
  created_at timestamptz(3) not null,
  primary key (account_id, tree_size),
  unique (account_id, from_size)
);
-- Finds the newest checkpoints of all accounts, and the last one of an account before a time.
create index checkpoints_by_time on checkpoints (created_at);
create index checkpoints_of_account_by_time on checkpoints (account_id, created_at, tree_size);

-- Timestamps of checkpoints (RFC 3161), as the authority answered. Without a foreign key to checkpoints, because a token
-- tells of a checkpoint that is gone.
create table timestamp_tokens (
  account_id uuid not null references accounts,
  tree_size bigint not null, -- of the checkpoint
  position integer not null, -- from 1, in the order in which they came: a removed one leaves a gap
  token bytea not null,
  created_at timestamptz(3) not null,
  primary key (account_id, tree_size),
  unique (account_id, position)
);
