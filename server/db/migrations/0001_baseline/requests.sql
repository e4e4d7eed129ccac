-- The register of data subjects' requests. Its history is in the administrators' log.

create table subject_requests (
  account_id uuid not null references accounts,
  id uuid not null,
  ticket text not null,
  kind text not null check (kind in ('access', 'erasure', 'rectification', 'objection', 'withdrawal', 'restriction')),
  state text not null check (state in ('open', 'extended', 'closed')),
  received_on date not null,
  due_on date not null,
  subject_ids jsonb, -- the person's identifiers; null once it is closed
  subject_hmacs jsonb not null,
  assignee text,
  extension_reason text,
  extended_at timestamptz(3),
  outcome text check (outcome in ('done', 'refused', 'withdrawn')),
  outcome_reason text,
  closed_at timestamptz(3),
  purge_due_on date, -- of an erasure that is done: when the data of its records is to be purged; null if the service does not know
  purged_on date, -- when nothing of it was left
  receipts jsonb not null default '[]',
  version integer not null default 1, -- one more with each change
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (account_id, id),
  unique (account_id, ticket)
);
-- No sample of the identifiers stays in the planner's statistics once they are removed.
alter table subject_requests alter column subject_ids set statistics 0;
create index subject_requests_open on subject_requests (account_id, id) where state <> 'closed';
