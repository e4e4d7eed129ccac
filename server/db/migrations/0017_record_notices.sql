-- Nodes of the version before write records without these: without a notice, whatever is published.
alter table consents
  add column notice_locale text, -- language of the text that was shown, as the sender told; null after a purge
  add column notice_entry integer, -- version of the account's entry that published the notice; null if it was not held then
  add column expires_at timestamptz(3); -- when the consent ends, by the notice's validity; null without one
-- Only of accepted records: a refusal does not expire.
create index consents_expiring on consents (account_id, expires_at, id)
  where expires_at is not null and deleted_at is null and accepted;
create index consents_expiring_of_site on consents (account_id, site_id, expires_at, id)
  where expires_at is not null and deleted_at is null and accepted;
