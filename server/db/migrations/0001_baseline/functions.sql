-- The only changes of history and log after their insert. The functions run with the rights of the role that owns the tables, so
-- that the service's role needs none to change them (server/db/grants.ts). On Citus each runs on the account's server.

-- Removes salts, preferences, sealed proofs and the personal part of circumstances of at most `reach` entries of purged records, from the oldest on,
-- and dates the purge of a record that has none left. It only touches a deleted record whose newest entry, in its history and in the
-- log, is that of a purge.
create or replace function strip_history(for_account uuid, ids uuid[], reach integer) returns jsonb
language plpgsql security definer as $$
declare
  locked uuid[];
  purge record;
  last integer;
  count integer;
  stripped integer := 0;
  complete uuid[] := '{}';
begin
  -- Nodes that purge the same records must not wait for each other's entries.
  select array_agg(id) into locked from (
    select id from consents
    where account_id = for_account and id = any (ids) and deleted_at is not null and purged_at is null
    order by id for update skip locked) as found;
  -- One record at a time, by the primary key: a join of both tables may be planned to read all entries for each record.
  for purge in
    select c.id, c.version from consents c
    join consent_history h on h.account_id = for_account and h.consent_id = c.id and h.version = c.version
    join log_entries l on l.account_id = for_account and l.consent_id = c.id and l.version = c.version
    where c.account_id = for_account and c.id = any (locked) and h.consent_id = any (locked) and l.consent_id = any (locked)
      and h.action = 'purged' and l.hash = h.hash
  loop
    select max(version), count(*) into last, count from (
      select version from consent_history
      where account_id = for_account and consent_id = purge.id and version < purge.version and salt is not null
      order by version limit reach - stripped) as remaining;
    update consent_history set
      salt = null, preferences = '{}', sealed = null, circumstances = nullif(circumstances - array['note', 'reference', 'relation'], '{}')
    where account_id = for_account and consent_id = purge.id and version <= last and salt is not null;
    stripped := stripped + count;
    exit when stripped = reach;
    complete := complete || purge.id;
  end loop;
  update consents set purged_at = updated_at where account_id = for_account and id = any (complete);
  return jsonb_build_object('stripped', stripped, 'completed', cardinality(complete));
end $$;

-- Gives entries of the log their leaves, in the order of `leaves` (id, version), and adds the checkpoint that has them. An entry
-- that has a leaf keeps it: the checkpoint is then refused. So is one that continues the same checkpoint as another (23505).
create or replace function append_checkpoint(
  for_account uuid, size bigint, size_before bigint, root bytea, roots bytea, signed text, at timestamptz, leaves jsonb
) returns void
language plpgsql security definer as $$
declare
  placed bigint;
begin
  insert into checkpoints (account_id, tree_size, from_size, root_hash, frontier, document, created_at)
  values (for_account, size, size_before, root, roots, signed, at);
  with leaf as (
    select (entry->>0)::uuid as consent_id, (entry->>1)::integer as version, size_before + position - 1 as leaf_index
    from jsonb_array_elements(leaves) with ordinality as given (entry, position)
  )
  update log_entries l set leaf_index = leaf.leaf_index from leaf
  where l.account_id = for_account and l.consent_id = leaf.consent_id and l.version = leaf.version and l.leaf_index is null;
  get diagnostics placed = row_count;
  if placed <> size - size_before then
    raise exception 'a checkpoint of % entries has % new leaves', size - size_before, placed using errcode = '40001';
  end if;
end $$;

-- Makes the planner's statistics anew, which keep samples of purged values. Only the owner of a table may analyze it.
create or replace function analyze_purged() returns void
language plpgsql security definer as $$
begin
  analyze consents (
      consent_id, subject_id, near_subject, user_agent, ip_network, notice_locale, preferences, origin_id, origin_evidence),
    consent_history (preferences, circumstances, salt), idempotency_keys (body_hash), origins (body_hash);
end $$;

-- A caller can neither run them without a grant nor choose which tables they mean.
do $$
declare
  name regprocedure;
begin
  for name in select oid from pg_proc where pronamespace = current_schema()::regnamespace and prosecdef loop
    execute format('revoke all on function %s from public', name);
    execute format('alter function %s set search_path = %I, pg_temp', name, current_schema());
  end loop;
end $$;
