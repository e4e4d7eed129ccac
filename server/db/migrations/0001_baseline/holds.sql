-- Legal holds: while one stands, nothing of the person is deleted by retention or an erasure, or purged. A hold ends by
-- itself, and its entries in the administrators' log tell of it when its row is removed.

create table holds (
  account_id uuid not null references accounts,
  id uuid not null,
  subject_hmac bytea not null, -- of the identifier, which is kept nowhere but in the records
  reason text not null,
  ticket text,
  held_until timestamptz(3) not null,
  created_at timestamptz(3) not null,
  primary key (account_id, id)
);
