-- The administrators' log: who changed which setting of an account, when, from what and to what. Each entry is a leaf of the
-- account's log, under the account's own id, and its hash there is the SHA-256 of exactly the text of its document.
alter table accounts
  add column entries integer not null default 0, -- version of the last entry
  add column entries_head bytea; -- its hash; null if there is none

create table account_entries (
  account_id uuid not null references accounts,
  version integer not null check (version >= 1),
  document text not null,
  created_at timestamptz(3) not null, -- as in the document
  primary key (account_id, version)
);
