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

-- Nodes of the version before count nothing here.
alter table statistics add column imported bigint not null default 0;
