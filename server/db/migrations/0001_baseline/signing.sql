-- The service's own signing keys, which are those of all accounts.

-- The statements and revocations of the signing keys, signed, in the order in which they were made: the log of keys, whose
-- Merkle root every checkpoint has.
create table key_statements (
  position integer primary key check (position >= 0),
  document text not null
);
