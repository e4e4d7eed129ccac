-- Nodes of the version before write records without these: without a notice, whatever is published.
alter table consents
  add column notice_locale text, -- language of the text that was shown, as the sender told; null after a purge
  add column notice_entry integer, -- version of the account's entry that published the notice; null if it was not held then
  add column expires_at timestamptz(3); -- when the consent ends, by the notice's validity; null without one
