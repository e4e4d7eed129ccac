-- The account's limit when units were last leased. A lease takes the limit from the account in the same statement, and so
-- no other statement of a request reads the accounts.
alter table usage add column monthly_quota bigint;
