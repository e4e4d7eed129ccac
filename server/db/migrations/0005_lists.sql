-- What lists are read from, newest record first. Live and deleted records are apart, and so are those that are accepted
-- from the others: however few there are of what a list asks for, it reads no row that it does not show. A list that asks
-- for both merges them.
drop index consents_by_site;
drop index consents_by_consent_id;
drop index consents_by_subject;

create index consents_live on consents (account_id, accepted, id) where deleted_at is null;
create index consents_deleted on consents (account_id, accepted, id) where deleted_at is not null;
create index consents_live_by_site on consents (account_id, site_id, accepted, id) where deleted_at is null;
create index consents_deleted_by_site on consents (account_id, site_id, accepted, id) where deleted_at is not null;

-- A label may be on few records of a large site, or on all of every site: with a site it needs an index of its own.
create index consents_live_by_label on consents (account_id, consent_id, accepted, id)
  where deleted_at is null and consent_id is not null;
create index consents_deleted_by_label on consents (account_id, consent_id, accepted, id)
  where deleted_at is not null and consent_id is not null;
create index consents_live_by_site_label on consents (account_id, site_id, consent_id, accepted, id)
  where deleted_at is null and consent_id is not null;
create index consents_deleted_by_site_label on consents (account_id, site_id, consent_id, accepted, id)
  where deleted_at is not null and consent_id is not null;

-- A subject has few records, so they are together: whether they are live and accepted is looked at in the index, behind
-- the id, before any row.
create index consents_by_subject on consents (account_id, subject_id, id, accepted, deleted_at)
  where subject_id is not null;
create index consents_by_subject_site on consents (account_id, subject_id, site_id, id, accepted, deleted_at)
  where subject_id is not null;
create index consents_by_subject_label on consents (account_id, subject_id, consent_id, id, accepted, deleted_at)
  where subject_id is not null and consent_id is not null;
