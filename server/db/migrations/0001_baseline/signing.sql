-- The service's own signing keys, which are those of all accounts.

-- The public keys that this service has ever signed with (Ed25519, 32 bytes), by their thumbprint (RFC 7638).
create table signing_keys (
  key_id text primary key,
  public_key bytea not null,
  created_at timestamptz(3) not null
);

-- The statements and revocations of the signing keys, signed, in the order in which they were made: the log of keys, whose
-- Merkle root every checkpoint has.
create table key_statements (
  position integer primary key check (position >= 0),
  document text not null
);
