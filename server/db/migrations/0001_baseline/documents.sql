-- What operators signed of erasures and withdrawals. An entry of the administrators' log has the columns of each row.

create table operator_documents (
  account_id uuid not null references accounts,
  id uuid not null,
  sha256 bytea not null,
  document text not null,
  public_key bytea not null,
  type text not null check (type in ('erasure_receipt', 'withdrawal_receipt')),
  number bigint not null,
  key_id text not null,
  ticket text not null,
  subject_hmacs jsonb not null,
  created_at timestamptz(3) not null,
  primary key (account_id, id),
  unique (account_id, sha256)
);
create index operator_documents_by_key on operator_documents (account_id, key_id, id);
create index operator_documents_by_ticket on operator_documents (account_id, ticket, id);
create index operator_documents_by_subject on operator_documents using gin (subject_hmacs jsonb_path_ops);
