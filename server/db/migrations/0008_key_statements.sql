-- The statements and revocations of the service's signing keys, signed, in the order in which they were made: the log of
-- keys, whose Merkle root every checkpoint has. The first statement adopts the keys of before as they are.
create table key_statements (
  position integer primary key check (position >= 0),
  document text not null
);
