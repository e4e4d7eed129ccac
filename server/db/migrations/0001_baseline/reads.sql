-- The access log: who read what of which person. No evidence, and no part of the account's log; rows are removed after 13
-- months. Without a foreign key to accounts, as with idempotency_keys: rows are written after the response.
create table subject_reads (
  account_id uuid not null,
  id uuid not null, -- a UUID version 7 whose millisecond is the time of the read
  operation text not null,
  subject_hmac bytea not null, -- as that of an erasure's certificate: HMAC of the subject_id with the account's key
  read_by text not null check (read_by in ('api_key', 'user')),
  actor_id uuid not null,
  primary key (account_id, id)
);
create index subject_reads_of_subject on subject_reads (account_id, subject_hmac, id);
create index subject_reads_by_age on subject_reads (id);
