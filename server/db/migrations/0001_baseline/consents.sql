-- Consent records as they are now, the indexes that lists are read from, and what makes a repeated create harmless.

-- id is a UUID version 7 whose millisecond is created_at: this one key serves order, cursor and time range.
create table consents (
  account_id uuid not null,
  id uuid not null,
  site_id uuid not null,
  consent_id text,
  subject_id text,
  near_subject text, -- what near matches are found by; null where it is the subject_id itself, and after a purge
  country text,
  region text,
  user_agent text,
  ip_network cidr, -- the address as kept: truncated unless configured otherwise
  accepted boolean not null,
  preferences jsonb not null,
  policy_version integer not null,
  version integer not null, -- 1 at creation, one more with each change
  record_hash bytea not null, -- of the fields that no update changes; part of the first entry's payload
  chain_head bytea not null, -- the hash of the last entry in consent_history
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  deleted_at timestamptz(3),
  purged_at timestamptz(3), -- when the personal data was removed; the record's skeleton and its hashes stay
  notice_locale text, -- language of the text that was shown, as reported by the sender; null after a purge
  notice_entry integer, -- version of the account's entry that published the notice; null if it was not held then
  expires_at timestamptz(3), -- when the consent ends, by the notice's validity; null without one
  origin_system text, -- of an imported record: where it comes from
  origin_id text, -- its id there; null after a purge
  origin_evidence text, -- null after a purge
  given_at timestamptz(3), -- when the person last answered there; not null of every imported record
  gpc boolean, -- true if the last answer came with Sec-GPC: 1, else null
  request_hash bytea, -- SHA-256 of the page's request that made the last change, which may be sent again; null after a purge
  primary key (account_id, id),
  foreign key (account_id, site_id) references sites
);

-- Lists, newest record first. Live and deleted records are apart, and so are accepted ones from the others: however few match,
-- a list reads no row that it does not show. A list that asks for both merges them.
create index consents_live on consents (account_id, accepted, id) where deleted_at is null;
create index consents_deleted on consents (account_id, accepted, id) where deleted_at is not null;
create index consents_live_by_site on consents (account_id, site_id, accepted, id) where deleted_at is null;
create index consents_deleted_by_site on consents (account_id, site_id, accepted, id) where deleted_at is not null;

-- What a retention counted from the withdrawal reads: a record of one answer has not withdrawn.
create index consents_changed_by_site on consents (account_id, site_id, id) where deleted_at is null and version > 1;

-- A label may be on few records of a large site, or on all of every site: with a site it needs an index of its own.
create index consents_live_by_label on consents (account_id, consent_id, accepted, id)
  where deleted_at is null and consent_id is not null;
create index consents_deleted_by_label on consents (account_id, consent_id, accepted, id)
  where deleted_at is not null and consent_id is not null;
create index consents_live_by_site_label on consents (account_id, site_id, consent_id, accepted, id)
  where deleted_at is null and consent_id is not null;
create index consents_deleted_by_site_label on consents (account_id, site_id, consent_id, accepted, id)
  where deleted_at is not null and consent_id is not null;

-- A subject has few records, so they are together: whether they are live and accepted is read from the index, before any row.
create index consents_by_subject on consents (account_id, subject_id, id, accepted, deleted_at)
  where subject_id is not null;
create index consents_by_subject_site on consents (account_id, subject_id, site_id, id, accepted, deleted_at)
  where subject_id is not null;
create index consents_by_subject_label on consents (account_id, subject_id, consent_id, id, accepted, deleted_at)
  where subject_id is not null and consent_id is not null;

create index consents_by_near_subject on consents (account_id, near_subject, id) where near_subject is not null;

-- Only of accepted records: a refusal does not expire.
create index consents_expiring on consents (account_id, expires_at, id)
  where expires_at is not null and deleted_at is null and accepted;
create index consents_expiring_of_site on consents (account_id, site_id, expires_at, id)
  where expires_at is not null and deleted_at is null and accepted;

-- Lists of imported records, as those of all.
create index consents_imported on consents (account_id, accepted, id) where given_at is not null and deleted_at is null;
create index consents_imported_deleted on consents (account_id, accepted, id)
  where given_at is not null and deleted_at is not null;
create index consents_imported_by_site on consents (account_id, site_id, accepted, id)
  where given_at is not null and deleted_at is null;
create index consents_imported_deleted_by_site on consents (account_id, site_id, accepted, id)
  where given_at is not null and deleted_at is not null;
create index consents_imported_by_label on consents (account_id, consent_id, accepted, id)
  where given_at is not null and deleted_at is null and consent_id is not null;
create index consents_imported_deleted_by_label on consents (account_id, consent_id, accepted, id)
  where given_at is not null and deleted_at is not null and consent_id is not null;

-- A subject's answers on a site by the time at which they were given.
create index consents_imported_by_subject on consents (account_id, subject_id, site_id, given_at, id, deleted_at)
  where given_at is not null and subject_id is not null;

create index consents_to_purge on consents (account_id, deleted_at) where deleted_at is not null and purged_at is null;

-- The key that a client gave to a create, so that its retry finds the record instead of making another. A row older than 24
-- hours is ignored. Without a foreign key to accounts: the record's site has the account already, and looking it up again
-- took as long as storing the key.
create table idempotency_keys (
  account_id uuid not null,
  key text not null, -- its SHA-256 in hexadecimal: it outlives a purge until its 24 hours end
  body_hash bytea not null, -- SHA-256 of the body as canonical JSON; of a purged record it is empty
  consent_id uuid not null,
  created_at timestamptz(3) not null,
  primary key (account_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Which origin made which imported record: one each, permanently. After a purge it prevents another import.
create table origins (
  account_id uuid not null references accounts,
  origin bytea not null, -- HMAC of account id, system, a zero byte and id there, with a secret of this table's own
  consent_id uuid not null,
  body_hash bytea, -- SHA-256 of what was imported, without its files; null after a purge
  primary key (account_id, origin),
  unique (account_id, consent_id)
);
