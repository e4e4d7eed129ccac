-- Timestamps of checkpoints (RFC 3161), as the authority answered. Without a foreign key to checkpoints, because a token
-- tells of a checkpoint that is gone.
create table timestamp_tokens (
  account_id uuid not null references accounts,
  tree_size bigint not null, -- of the checkpoint
  position integer not null, -- from 1, in the order in which they came: a removed one leaves a gap
  token bytea not null,
  created_at timestamptz(3) not null,
  primary key (account_id, tree_size),
  unique (account_id, position)
);

-- Finds the newest checkpoints of all accounts.
create index checkpoints_by_time on checkpoints (created_at);
