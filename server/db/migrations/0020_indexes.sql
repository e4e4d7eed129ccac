-- Indexes of 0012, 0017 and 0019, apart from their columns: what a blank line ends is a transaction of its own, so that writes
-- wait for one index at a time and reads for none. A database of an unreleased version may have them.
-- What an identifier is compared by to find near matches: without case, blanks around it and differences of Unicode form. The
-- same on every engine and in every locale, and at most 255 characters, because a key of an index has its limits. An identifier
-- that is written so already is in the index by subject, so this one has few rows. It is in server/subjects/queries.ts too.
create index if not exists consents_by_near_subject on consents (account_id, (left(lower(btrim(
    case when octet_length(subject_id) = length(subject_id) then subject_id
      else translate(normalize(subject_id, NFKD),
        'ÆÐØÞĐĦŁŊŒŦẞΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЂЄЅІЈЉЊЋЏҐ',
        'æðøþđħłŋœŧßαβγδεζηθικλμνξοπρστυφχψωσабвгдежзиклмнопрстуфхцчшщъыьэюяђєѕіјљњћџґ')
    end, E' \t\n\r\f') collate "C"), 255)), id)
  where subject_id <> left(lower(btrim(
    case when octet_length(subject_id) = length(subject_id) then subject_id
      else translate(normalize(subject_id, NFKD),
        'ÆÐØÞĐĦŁŊŒŦẞΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЂЄЅІЈЉЊЋЏҐ',
        'æðøþđħłŋœŧßαβγδεζηθικλμνξοπρστυφχψωσабвгдежзиклмнопрстуфхцчшщъыьэюяђєѕіјљњћџґ')
    end, E' \t\n\r\f') collate "C"), 255);
-- Otherwise the planner's statistics would keep samples of it after a purge, which refreshes those of columns alone.
alter index consents_by_near_subject alter column 2 set statistics 0;

-- Only of accepted records: a refusal does not expire.
create index if not exists consents_expiring on consents (account_id, expires_at, id)
  where expires_at is not null and deleted_at is null and accepted;

create index if not exists consents_expiring_of_site on consents (account_id, site_id, expires_at, id)
  where expires_at is not null and deleted_at is null and accepted;

-- Lists of imported records, as those of all (0005): live and deleted ones apart, and accepted from others.
create index if not exists consents_imported on consents (account_id, accepted, id) where given_at is not null and deleted_at is null;

create index if not exists consents_imported_deleted on consents (account_id, accepted, id)
  where given_at is not null and deleted_at is not null;

create index if not exists consents_imported_by_site on consents (account_id, site_id, accepted, id)
  where given_at is not null and deleted_at is null;

create index if not exists consents_imported_deleted_by_site on consents (account_id, site_id, accepted, id)
  where given_at is not null and deleted_at is not null;

create index if not exists consents_imported_by_label on consents (account_id, consent_id, accepted, id)
  where given_at is not null and deleted_at is null and consent_id is not null;

create index if not exists consents_imported_deleted_by_label on consents (account_id, consent_id, accepted, id)
  where given_at is not null and deleted_at is not null and consent_id is not null;

-- A subject's answers on a site by the time at which they were given.
create index if not exists consents_imported_by_subject on consents (account_id, subject_id, site_id, given_at, id, deleted_at)
  where given_at is not null and subject_id is not null;
