-- A deleted record can be restored until it is purged. Rows were checked against a subset of these actions, so they need no
-- second check, which would lock the table.
alter table consent_history drop constraint consent_history_action_check;
alter table consent_history add constraint consent_history_action_check
  check (action in ('created', 'updated', 'deleted', 'purged', 'restored', 'restored_despite_erasure')) not valid;

-- Of a deleted record: true if an erasure request covers it. Null if that was not recorded, and for live records.
alter table consents add column erased boolean;
