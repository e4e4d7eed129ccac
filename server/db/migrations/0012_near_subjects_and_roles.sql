-- What an identifier is compared by to find near matches: without case, blanks around it and differences of Unicode form. The
-- same on every engine and in every locale, and at most 255 characters, because a key of an index has its limits. An identifier
-- that is written so already is in the index by subject, so this one has few rows. It is in server/subjects/queries.ts too.
create index consents_by_near_subject on consents (account_id, (left(lower(btrim(
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

-- An owner may do everything, a reader only read.
alter table users add column role text not null default 'owner' check (role in ('owner', 'reader'));
