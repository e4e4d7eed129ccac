-- A key is stored with the record that it makes, whose site has the account: to look for that once more took as long as to
-- store the key, and every create of an account did so at the same row.
alter table idempotency_keys drop constraint idempotency_keys_account_id_fkey;
