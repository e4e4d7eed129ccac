-- Webhooks. The log of an account is the queue, and a row is all that an endpoint needs.

create table webhooks (
  account_id uuid not null references accounts,
  id uuid not null,
  url text not null, -- as it was given: its user, password and query may be secret
  types jsonb, -- of events; null is every one
  site_ids jsonb, -- null is every site, and the administrators' log
  signature text not null check (signature in ('v1', 'v1a')),
  secret bytea not null, -- 32 bytes: the key of the HMAC, or the seed of the Ed25519 key
  previous_secret bytea,
  previous_secret_until timestamptz(3),
  position bigint not null, -- each event up to it was delivered, is not wanted, or is of a record in undelivered; -1 before the first
  undelivered jsonb not null default '[]', -- at most 100 records: from which position on, failed attempts, times of the first and the next one
  retry_at timestamptz(3), -- the earliest next attempt of these
  failures integer not null default 0, -- failed attempts since the last delivery
  failing_since timestamptz(3), -- first failed attempt of an event that is undelivered for ten minutes
  paused_at timestamptz(3),
  rewound jsonb, -- by an administrator: when, and behind which position it continued
  attempts jsonb not null default '[]', -- the last 100, newest first
  turn uuid, -- names the turn of the node that delivers; a change of the row ends it
  next_turn_at timestamptz(3) not null, -- no other turn begins before
  created_at timestamptz(3) not null,
  primary key (account_id, id)
);
