-- The service's own signing keys, which are those of all accounts, and what it last found in itself.

-- The statements and revocations of the signing keys, signed, in the order in which they were made: the log of keys, whose
-- Merkle root every checkpoint has.
create table key_statements (
  position integer primary key check (position >= 0),
  document text not null
);

-- The last `admin verify` of the whole database, for the metrics of nodes.
create table verifications (
  scope text primary key check (scope = 'all'),
  finished_at timestamptz(3) not null,
  findings integer not null
);
