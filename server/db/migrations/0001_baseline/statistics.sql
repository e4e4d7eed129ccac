-- Totals by group and day, so that statistics read no record, and a purge changes none. A background job counts audit entries
-- in the order of the log.

create table statistics (
  account_id uuid not null,
  kind text not null check (kind in ('all', 'policy', 'country', 'preference')),
  site_id uuid not null, -- all zeros: the sites together
  value text not null, -- of the kind: a policy version, a country or '', the key of a preference; '' for all
  day date not null, -- of created_at, UTC
  records bigint not null,
  imported bigint not null default 0,
  deleted bigint not null,
  accepted bigint not null, -- of preferences: true
  withdrawn bigint not null,
  anonymous bigint not null, -- without a subject
  new_persons bigint not null, -- who have no record of an earlier day in the group
  -- The others of the day by their last earlier day in the group: these days since 1970, in order, and to each the number of
  -- persons whose last earlier day it is or one before. So the persons of any range of days are those whose last earlier day
  -- is before the range, and nobody is named.
  previous_days integer[] not null,
  persons_until bigint[] not null,
  primary key (account_id, kind, site_id, value, day)
);

create table statistics_progress (
  account_id uuid primary key references accounts,
  leaves bigint not null, -- of the log, from its first: these are counted
  revision bigint not null -- one more with each statement that counts
);
