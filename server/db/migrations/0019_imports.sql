-- Records of another system, with what its importer says of them. The new columns are null in every row, so that no row is
-- written; nodes of the version before go on without them.
alter table consents
  add column origin_system text, -- null of a record that was not imported
  add column origin_id text, -- its id there; null after a purge
  add column origin_evidence text, -- null after a purge
  add column given_at timestamptz(3), -- when the person last answered there; not null of every imported record
  add column gpc boolean; -- true if the last answer came with Sec-GPC: 1, else null
alter table consent_history
  add column given_at timestamptz(3),
  add column file_sha256 bytea,
  add column gpc boolean;

-- Rows were checked against a subset of these actions, so they need no second check, which would lock the table.
alter table consent_history drop constraint consent_history_action_check;
alter table consent_history add constraint consent_history_action_check
  check (action in ('created', 'imported', 'updated', 'deleted', 'purged', 'restored', 'restored_despite_erasure')) not valid;

-- Which origin made which record: one for each, without end. After a purge it is the mark that nothing may bring it back.
create table origins (
  account_id uuid not null references accounts,
  origin bytea not null, -- SHA-256 of account id, system, a zero byte and id there
  consent_id uuid not null,
  body_hash bytea, -- SHA-256 of what was imported, without its files; null after a purge
  primary key (account_id, origin),
  unique (account_id, consent_id)
);

-- Lists of imported records, as those of all (0005): live and deleted ones apart, and accepted from others.
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

-- Nodes of the version before count nothing here.
alter table statistics add column imported bigint not null default 0;
