-- The register of data subjects' requests, and its history.

create table subject_requests (
  account_id uuid not null references accounts,
  id uuid not null,
  ticket text not null,
  kind text not null check (kind in ('access', 'erasure', 'rectification', 'objection')),
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

-- Who changed what of a request and when. Written in the statement of the change, and never changed or deleted.
create table subject_request_entries (
  account_id uuid not null,
  request_id uuid not null,
  version integer not null,
  action text not null check (action in ('created', 'updated', 'extended', 'closed')),
  changed_by text not null check (changed_by in ('api_key', 'user')),
  actor_id uuid not null,
  created_at timestamptz(3) not null,
  before jsonb, -- the changed fields; null of the first entry
  after jsonb not null,
  primary key (account_id, request_id, version),
  foreign key (account_id, request_id) references subject_requests
);
