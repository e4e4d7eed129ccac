-- An owner may do everything, a reader only read.
alter table users add column role text not null default 'owner' check (role in ('owner', 'reader'));
