-- The key that a client gave to a create, so that its retry finds the record instead of making another. A row older
-- than 24 hours counts as none.

create table idempotency_keys (
  account_id uuid not null references accounts,
  key text not null,
  body_hash bytea not null, -- SHA-256 of the body as canonical JSON
  consent_id uuid not null,
  created_at timestamptz(3) not null,
  primary key (account_id, key)
);

create index idempotency_keys_by_age on idempotency_keys (created_at);
