-- Indexes of 0017 and 0019, apart from their columns: each statement is a transaction of its own, so that writes wait for one
-- index at a time and reads for none. A database of an unreleased version may have them.
-- Only of accepted records: a refusal does not expire.
create index if not exists consents_expiring on consents (account_id, expires_at, id)
  where expires_at is not null and deleted_at is null and accepted;
create index if not exists consents_expiring_of_site on consents (account_id, site_id, expires_at, id)
  where expires_at is not null and deleted_at is null and accepted;
-- Lists of imported records, as those of all (0005): live and deleted ones apart, and accepted from others.
create index if not exists consents_imported on consents (account_id, accepted, id) where given_at is not null and deleted_at is null;
create index if not exists consents_imported_deleted on consents (account_id, accepted, id)
  where given_at is not null and deleted_at is not null;
create index if not exists consents_imported_by_site on consents (account_id, site_id, accepted, id)
  where given_at is not null and deleted_at is null;
create index if not exists consents_imported_deleted_by_site on consents (account_id, site_id, accepted, id)
  where given_at is not null and deleted_at is not null;
create index if not exists consents_imported_by_label on consents (account_id, consent_id, accepted, id)
  where given_at is not null and deleted_at is null and consent_id is not null;
create index if not exists consents_imported_deleted_by_label on consents (account_id, consent_id, accepted, id)
  where given_at is not null and deleted_at is not null and consent_id is not null;
-- A subject's answers on a site by the time at which they were given.
create index if not exists consents_imported_by_subject on consents (account_id, subject_id, site_id, given_at, id, deleted_at)
  where given_at is not null and subject_id is not null;
