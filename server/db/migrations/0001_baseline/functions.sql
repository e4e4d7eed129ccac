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

-- Gives the first `most` entries of the log that have none their leaves, behind those that it has: of records first, then those of
-- the account, so that a record behind an entry of the account was written later. With `after_id` only of records behind that entry.
-- Returns the size of the log, the number of new leaves, and the entry of the last one. Fails with 23505 or 40001 if another
-- statement gives leaves at the same time. Planned at each call: a plan made while the log was small reads all of it.
create or replace function place_leaves(for_account uuid, after_id uuid, after_version integer, most integer) returns jsonb
language plpgsql security definer set plan_cache_mode = force_custom_plan as $$
declare
  size bigint;
  ids uuid[];
  places jsonb; -- by id and version
  found integer;
  placed integer;
  last jsonb;
begin
  select count(*), array_agg(distinct consent_id), jsonb_object_agg(consent_id::text || ' ' || version::text, position),
    (array_agg(jsonb_build_array(consent_id, version) order by position desc))[1]
  into found, ids, places, last from (
    select consent_id, version, row_number() over (order by consent_id = for_account, consent_id, version) - 1 as position from (
      (select consent_id, version from log_entries
      where account_id = for_account and leaf_index is null and consent_id <> for_account
        and (consent_id, version) > (coalesce(after_id, '00000000-0000-0000-0000-000000000000'), coalesce(after_version, 0))
      order by consent_id nulls first, version nulls first limit most)
      union all
      (select consent_id, version from log_entries
      where account_id = for_account and leaf_index is null and consent_id = for_account and after_id is null
      order by consent_id nulls first, version nulls first limit most)
    ) as entries
    order by position limit most
  ) as leaves;
  -- After the entries were read, so that it counts those that another statement placed in between.
  select leaf_index + 1 into size from log_entries
  where account_id = for_account and leaf_index is not null order by leaf_index desc limit 1;
  size := coalesce(size, 0);
  -- Without a join, which may be planned as if there were one new entry; and between the first and the last id, so that not all
  -- new entries are read.
  update log_entries set leaf_index = size + (places->>(consent_id::text || ' ' || version::text))::bigint
  where account_id = for_account and consent_id between ids[1] and ids[cardinality(ids)] and consent_id = any (ids)
    and leaf_index is null
    and (places->>(consent_id::text || ' ' || version::text)) is not null;
  get diagnostics placed = row_count;
  if placed <> found then
    raise exception '% of % entries got a leaf', placed, found using errcode = '40001';
  end if;
  return jsonb_build_object('size', size + placed, 'placed', placed, 'last', last);
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
