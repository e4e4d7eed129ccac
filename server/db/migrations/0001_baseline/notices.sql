-- What people were shown: the notices of a site by policy version, with their texts.

-- A draft until `published_entry` names the administrators' entry of its publication; immutable from then on.
create table notices (
  account_id uuid not null,
  site_id uuid not null,
  policy_version integer not null check (policy_version >= 1),
  revision integer not null default 1, -- one more with each change of the draft or its texts
  purposes jsonb not null default '[]',
  controller text,
  valid_for text, -- ISO 8601
  requires_renewal boolean not null default false,
  effective_from timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  published_entry integer,
  primary key (account_id, site_id, policy_version),
  foreign key (account_id, site_id) references sites
);

create table notice_texts (
  account_id uuid not null,
  site_id uuid not null,
  policy_version integer not null,
  language text not null, -- BCP 47, canonical
  media_type text not null check (media_type in ('text/plain', 'text/markdown', 'text/html', 'application/pdf')),
  sha256 bytea not null,
  content bytea not null, -- as uploaded
  primary key (account_id, site_id, policy_version, language),
  foreign key (account_id, site_id, policy_version) references notices on delete cascade
);
