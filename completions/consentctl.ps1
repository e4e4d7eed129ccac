# Completions for consentctl. Made from its commands: see "consentctl completion --help".
Register-ArgumentCompleter -Native -CommandName consentctl -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $rows = @'
create|--site|@sites|site of the record, by name or id
create|--subject|none|identifier of the data subject
create|--accepted||the subject accepted
create|--refused||the subject refused
create|--pref|none|a preference; repeatable (true, false, numbers and JSON are typed)
create|--preferences|none|all preferences as a JSON object, from a file or standard input
create|--consent-id|none|your own label for the record
create|--policy-version|none|policy version (default: the site’s current one)
create|--ip-address|none|IP address of the subject; stored, but never shown again
create|--user-agent|none|user agent of the subject’s browser
create|--notice-locale|none|language of the notice that was shown, such as de
create|--method|none|how the answer was given: web, app, phone, paper, verbal, import
create|--channel|none|where, such as a shop or a hotline
create|--form|none|address or name of what was shown
create|--form-sha256|none|its SHA-256
create|--given-by|none|who gave the answer: self, guardian, agent
create|--relation|none|of the guardian or agent to the subject
create|--confirmed-at|none|when it was confirmed elsewhere, such as by double opt-in
create|--reference|none|of the confirmation, or of the original
create|--note|none|a note; a purge removes it, --relation and --reference
create|--file|files|create a record for each line of a file, or of standard input
create|--format|none|format of the lines (from the file name, else ndjson)
create|--map|files|map of fields to columns: a file, or subject_id=E-Mail,accepted=Status
create|--true|none|values that mean yes, comma-separated, besides the common ones
create|--false|none|values that mean no
create|--csv-unguard||remove the ' that guards cells beginning with = + - @ in CSV
create|--concurrency|none|concurrent requests, 1 to 64 (8)
create|--max-errors|none|stop when n lines have failed
create|--fail-fast||stop at the first line that fails
create|--failed-out|files|write the lines that failed to a new file, unchanged
create|--resume|@imports|resume an import that was stopped
create|--ignore-quota||start even if the monthly quota is too small
create|--allow-empty||accept an empty file
create|--map-out|files|write a map of the columns to a new file to edit, and send nothing
create|--no-batch||send each line in its own request, even if batches are possible
create|--dry-run||send nothing: print the request, or check every line of a file
import|--from|:usercentrics iubenda didomi cookie-script commanders-act consenti c15t klaro onetrust cookiebot cookieyes complianz mailchimp hubspot klaviyo brevo csv|the tool that wrote the files, or csv
import|--site|@sites|site of the records, by name or id
import|--dry-run||send no record: print each value with its meaning, and check the instance
import|--map|files|a JSON file that maps the columns and values
import|--map-out|files|write a map of undecided values, or of a CSV, to a new file to edit
import|--policy-version|none|policy version of all answers
import|--timezone|none|time zone of local times, such as Europe/Berlin
import|--encoding|none|encoding of files that are not UTF-8, such as windows-1252
import|--csv-unguard||remove the ' that guards cells beginning with = + - @ in CSV
import|--refused-out|files|write a list of rejected rows to a new file
import|--failed-out|files|write the records that the instance rejected to a new file
import|--receipt-out|files|write a copy of the receipt to a new file
import|--resume|@imports|resume an import that was stopped
import|--ignore-quota||start even if the monthly quota is too small
import|--allow-empty||accept files without rows
import|--yes||skip the confirmation prompt
import|-y||skip the confirmation prompt
import|--confirm|none|skip the prompt, but only if exactly n records match
import|<|files|
list|--site|@sites|only records of this site, by its name or id
list|--subject|none|only records of this data subject
list|--accepted||only accepted records
list|--refused||only records that are not accepted
list|--from|none|created at this time or later: RFC 3339, 2026-01-31 (UTC), 7d or 24h ago
list|--to|none|created at this time or earlier; a date includes its whole day
list|--limit|none|list at most n records (on a terminal 50 unless --all)
list|--all||list every record, also on a terminal
list|--count||print only the number of records
list|--include-deleted||include deleted records
list|--consent-id|none|only records with this label
list|--imported||only imported records; tables show when and where their persons answered
list|--witnessed||only records that were not imported
list|--at|none|show records as they were at this time; requires --subject or --consent-id
list|--expiring|none|accepted records that expire within this time (30d, 4w, P1M), soonest first
list|--expired||accepted records that have expired
list|--cursor|none|continue where an earlier list ended
list|--max-requests|none|send at most n requests
list|--concurrency|none|concurrent page requests, 1 to 64; with 1, each page waits for the one before
get|--include-deleted||also show deleted records
get|--at|none|the state at this time: RFC 3339, 2026-01-31 (end of day, UTC), 7d or 24h ago
update|--accepted||the subject accepted
update|--refused||the subject refused
update|--pref|none|a preference; repeatable (true, false, numbers and JSON are typed)
update|--preferences|none|all preferences as a JSON object, from a file or standard input
update|--replace-preferences||remove all preferences that are not given
update|--where|none|change every record that matches these list filters
update|--method|none|how the answer was given: web, app, phone, paper, verbal, import
update|--channel|none|where, such as a shop or a hotline
update|--form|none|address or name of what was shown
update|--form-sha256|none|its SHA-256
update|--given-by|none|who gave the answer: self, guardian, agent
update|--relation|none|of the guardian or agent to the subject
update|--confirmed-at|none|when it was confirmed elsewhere, such as by double opt-in
update|--reference|none|of the confirmation, or of the original
update|--note|none|a note; a purge removes it, --relation and --reference
update|--yes||skip the confirmation prompt
update|-y||skip the confirmation prompt
update|--confirm|none|skip the prompt, but only if exactly n records match
update|--file|files|change a record for each line of a file
update|--format|none|format of the lines (from the file name, else ndjson)
update|--map|files|map of fields to columns: a file, or subject_id=E-Mail,accepted=Status
update|--true|none|values that mean yes, comma-separated, besides the common ones
update|--false|none|values that mean no
update|--csv-unguard||remove the ' that guards cells beginning with = + - @ in CSV
update|--concurrency|none|concurrent requests, 1 to 64 (8)
update|--max-errors|none|stop when n lines have failed
update|--fail-fast||stop at the first line that fails
update|--failed-out|files|write the lines that failed to a new file, unchanged
update|--resume|@imports|resume changes that were stopped
update|--ignore-quota||start even if the monthly quota is too small
update|--allow-empty||accept an empty file
update|--dry-run||send nothing: print each request, or check every line of a file
rm|--yes||skip the confirmation prompt
rm|-y||skip the confirmation prompt
rm|--confirm|none|skip the prompt, but only if exactly n records match
rm|--ignore-missing||skip ids without a record
rm|--file|files|delete the records whose ids are in a file
rm|--format|none|format of the lines (from the file name, else ndjson)
rm|--map|files|map of fields to columns: a file, or subject_id=E-Mail,accepted=Status
rm|--true|none|values that mean yes, comma-separated, besides the common ones
rm|--false|none|values that mean no
rm|--csv-unguard||remove the ' that guards cells beginning with = + - @ in CSV
rm|--concurrency|none|concurrent requests, 1 to 64 (8)
rm|--max-errors|none|stop when n lines have failed
rm|--fail-fast||stop at the first line that fails
rm|--failed-out|files|write the lines that failed to a new file, unchanged
rm|--resume|@imports|resume deletions that were stopped
rm|--ignore-quota||start even if the monthly quota is too small
rm|--allow-empty||accept an empty file
rm|--dry-run||send nothing: print each request, or check every line of a file
restore|--dry-run||print the method, URL and body of each request instead of sending it
restore|--despite-erasure||also restore records that an erasure request covers
history|--verify||verify the history of each record instead of showing it
history|--checkpoint|files|with --verify, also prove that the log of a saved checkpoint includes it
check|--purpose|none|the purpose: a key of the preferences, such as marketing
check|--site|@sites|only records of this site
check|--at|none|the state at this time: RFC 3339, 2026-01-31 (end of day, UTC), 7d or 24h ago
check|--file|files|check every line of a list, and write those that are allowed to --out
check|--column|none|column or field of the list with the identifier (subject_id)
check|--stopped-out|files|write the other lines to a new file
check|--receipt-out|files|write a signed receipt to a new file
check|--valid-for|none|how long the receipt is valid (24h)
check|--unknown|none|what to do with persons of whom nothing is known (stop)
check|--format|none|format of the list (from its name; else csv with --column, or lines)
check|--csv-unguard||remove the ' that guards cells beginning with = + - @ in CSV
check|--only-witnessed||ignore imported answers
withdraw|--also|none|another identifier of the same person; repeatable
withdraw|--request|@tickets|use the identifiers of this request in the register
withdraw|--purpose|none|the purpose: a key of the preferences, such as marketing; repeatable
withdraw|--ticket|none|ticket of the request; required without --request
withdraw|--site|@sites|only records of this site
withdraw|--dry-run||show what would be withdrawn and stop
withdraw|--file|files|withdraw for the people in a CSV, one per line
withdraw|--reason|none|reason to state in the receipt
withdraw|--received|none|when the request was received, such as 2026-01-31; sets the due date
withdraw|--show-subject||write the identifier in clear text into the receipt, which is kept on this machine only
withdraw|--yes||skip the confirmation prompt
withdraw|-y||skip the confirmation prompt
withdraw|--confirm|none|skip the prompt, but only if exactly n records match
watch|--after|none|begin behind this position
watch|--from|none|begin at this time: RFC 3339, 2026-01-31 (UTC), 7d or 24h ago
watch|--type|none|only events of this type, such as withdrawn or erased; repeatable
watch|--state|files|begin behind the position in this file, and keep it up to date
watch|--exec|none|run this shell command for each event, which it gets on stdin, instead of printing it
watch|--concurrency|none|run at most n commands at once, never two of a record (default: 1)
watch|--verify||compare all events with signed checkpoints of the log
watch|--once||end when there is no further event, instead of waiting
stats|--site|@sites|only records of this site
stats|--from|none|created on this day (UTC) or later: 2026-01-31, or 7d or 4w ago
stats|--to|none|created on this day (UTC) or earlier
stats|--by|:day week month site policy country preference|group the numbers
stats|--exact||also show groups of fewer than ten persons
stats|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
stats|--password-stdin||read the password from standard input instead of prompting
subject|find|=subject find|List all records of a person
subject|export|=subject export|Export the records and history of a person to a file
subject|erase|=subject erase|Delete all records of a person and sign an erasure record
subject|purge|=subject purge|Purge the records of an erasure now, and sign a record of it
subject|resume|=subject resume|Resume an interrupted erasure or withdrawal
subject|verify|=subject verify|Verify a record of an erasure or withdrawal, and what is there now
subject|receipts|=subject receipts|List erasure and withdrawal records, or print one
subject|keys|=subject keys|Show the key that signs erasure and withdrawal records
subject find|--also|none|another identifier of the same person; repeatable
subject find|--request|@tickets|use the identifiers of this request in the register
subject find|--all-profiles||search every stored instance, each with its own key
subject find|--like||also find identifiers that differ only in case, surrounding blanks or Unicode form
subject export|--also|none|another identifier of the same person; repeatable
subject export|--request|@tickets|use the identifiers of this request in the register
subject erase|--also|none|another identifier of the same person; repeatable
subject erase|--request|@tickets|use the identifiers of this request in the register
subject erase|--ticket|none|ticket of the request; required without --request
subject erase|--reason|none|reason to state in the receipt
subject erase|--received|none|when the request was received, such as 2026-01-31; sets the due date
subject erase|--export-first|files|export the records to a new file before deleting them
subject erase|--plan-out|files|write the plan to a new file and stop
subject erase|--apply|files|carry out a plan if nothing has changed since it was written
subject erase|--dry-run||show what would be deleted and stop
subject erase|--file|files|erase the people in a CSV, one per line
subject erase|--repeat-since|none|after restoring a backup, repeat the erasures since it was taken
subject erase|--one-person||with -, allow more than 20 identifiers
subject erase|--show-subject||write the identifier in clear text into the receipt, which is kept on this machine only
subject erase|--yes||skip the confirmation prompt
subject erase|-y||skip the confirmation prompt
subject erase|--confirm|none|skip the prompt, but only if exactly n records match
subject purge|--dry-run||show what would be purged without purging it
subject purge|--yes||skip the confirmation prompt
subject purge|-y||skip the confirmation prompt
subject purge|--confirm|none|skip the prompt, but only if exactly n records match
subject purge|<|@receipts|
subject resume|<|@erasures|
subject verify|--live||check that the instance shows each of its records as deleted, or without the purpose
subject verify|--purged||request a certificate that the personal data of its records is purged
subject verify|--certificate-out|files|write the certificate to a new file
subject verify|--subject|none|check that it is about this data subject; with --live, that no live record is left
subject verify|--public-key|files|the signing key, in PEM; by default the profile’s own
subject verify|<|@receipts|
subject receipts|--subject|none|only those about this data subject
subject receipts|--ticket|none|only those for this ticket
subject receipts|--format|none|print its exact bytes (json) or a Markdown page (md)
subject receipts|<|@receipts|
subject keys|show|=subject keys show|Print the public key that verifies these records
requests|list|=requests list|List open requests, the most urgent first
requests|next|=requests next|Show the request to answer now
requests|show|=requests show|Show a request, or its history
requests|add|=requests add|Add a request to the register
requests|update|=requests update|Assign or correct an open request
requests|extend|=requests extend|Extend the period to answer a request by two months
requests|close|=requests close|Close a request and remove its identifiers
requests|report|=requests report|Report how many requests were answered, and how fast
requests list|--check||list only overdue requests, and exit with 8 if there is one
requests list|--closed||list closed requests instead of open ones
requests list|--all||list open and closed requests
requests list|--assignee|none|list only requests assigned to NAME
requests list|--kind|:access erasure rectification objection withdrawal restriction|only those of a kind
requests list|--subject|none|list only requests of this data subject; closed ones match by HMAC
requests next|--assignee|none|only requests assigned to NAME
requests show|--history||show the audit entries instead: who changed what, when
requests show|<|@tickets|
requests add|--kind|:access erasure rectification objection withdrawal restriction|what is requested
requests add|--received|none|when it was received, such as 2026-01-31 (today)
requests add|--also|none|another identifier of the same person; repeatable
requests add|--assignee|none|person who handles the request
requests add|<|@tickets|
requests update|--assignee|none|new assignee of the request
requests update|--unassign||remove the assignee
requests update|--kind|:access erasure rectification objection withdrawal restriction|what is requested
requests update|--received|none|when it was received; recalculates the due date
requests update|--subject|none|replace the identifiers; repeatable, - for stdin
requests update|--receipt|files|add the digest of an erasure receipt or an export manifest
requests update|<|@tickets|
requests extend|--reason|none|why one month is not enough, without names of persons
requests extend|<|@tickets|
requests close|--outcome|:done refused withdrawn|how it ended
requests close|--reason|none|why it was refused or late, without names of persons
requests close|--purge||first purge the records that its erasure receipt lists, as "subject purge" does
requests close|--yes||skip the confirmation prompt
requests close|-y||skip the confirmation prompt
requests close|--confirm|none|skip the prompt, but only if exactly n requests match
requests close|<|@tickets|
requests report|--from|none|first day of receipt, such as 2026-03-01 (default: January 1 of this year)
requests report|--to|none|last day of receipt (today)
requests report|--format|none|md: Markdown; csv: a line for each request (a page on a terminal)
hold|add|=hold add|Add a legal hold
hold|list|=hold list|List the legal holds that stand
hold|remove|=hold remove|Remove a legal hold before its end
hold add|--reason|none|why the records are needed; it stays in the log and should name nobody
hold add|--until|none|when the hold ends: 2028-12-31 (end of day, UTC), or 90d from now
hold add|--ticket|@tickets|where the claim is handled
hold remove|--yes||skip the confirmation prompt
hold remove|-y||skip the confirmation prompt
evidence|--subject|none|all records of a data subject, each in a folder named by its id
evidence|--sealed||with --subject: its purged records that left a sealed proof
evidence|--pdf-ready||only the certificate, one HTML page: print it to PDF in a browser
verify|--keys|files|verify with the keys in this JWK set, as a service publishes it
verify|--public-key|files|verify with this public key in PEM
verify|--live||verify with the instance’s current keys and log, and ask what changed since
verify|--list|files|verify that a gate receipt allows this list, and has not expired
verify|<|files|
sites|list|=sites list|List sites, newest first
sites|create|=sites create|Create a site and its token
sites|update|=sites update|Change the name, policy version, origins or rules of a site
sites|rotate-token|=sites rotate-token|Issue a new token for a site
sites|archive|=sites archive|Archive a site, or restore it
sites|snippet|=sites snippet|Print a script that records the choices of a banner
sites list|--archived||list archived sites too
sites list|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
sites list|--password-stdin||read the password from standard input instead of prompting
sites create|--dry-run||print the method, URL and body of each request instead of sending it
sites create|--name|none|name of the site
sites create|--policy-version|none|current policy version (1)
sites create|--origin|none|origin allowed to show its banner, such as https://shop.example; repeatable
sites create|--retain|none|delete records this long after an event, such as 3y, 18m or 90d (never)
sites create|--after|:withdrawal expiry last-change creation|with --retain: the event
sites create|--strict-notices||reject a consent to a policy version without a published notice
sites create|--no-strict-notices||accept a consent without a published notice (the default)
sites create|--allow-duplicate||create the site even if another one has the name
sites create|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
sites create|--password-stdin||read the password from standard input instead of prompting
sites update|--dry-run||print the method, URL and body of each request instead of sending it
sites update|--name|none|new name
sites update|--policy-version|none|policy version of new records
sites update|--origin|none|replace the allowed origins; repeatable
sites update|--add-origin|none|add an allowed origin; repeatable
sites update|--remove-origin|none|remove an allowed origin; repeatable
sites update|--clear-origins||remove all allowed origins
sites update|--retain|none|delete records this long after an event, such as 3y, 18m or 90d
sites update|--after|:withdrawal expiry last-change creation|with --retain: the event
sites update|--clear-retention||keep records indefinitely
sites update|--seal-proof|none|keep a sealed proof this long after a deletion, such as 10y
sites update|--basis|none|with --seal-proof: the reason, such as the legal basis
sites update|--no-seal-proof||keep no sealed proof at later purges
sites update|--strict-notices||reject a consent to a policy version without a published notice
sites update|--no-strict-notices||take it
sites update|--allow-duplicate||with --name: allow a name that another site has
sites update|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
sites update|--password-stdin||read the password from standard input instead of prompting
sites update|<|@sites|
sites rotate-token|--dry-run||print the method, URL and body of each request instead of sending it
sites rotate-token|--overlap|none|hours until older tokens expire (24); 0 revokes them immediately
sites rotate-token|--yes||with --overlap 0: skip the confirmation prompt
sites rotate-token|-y||with --overlap 0: skip the confirmation prompt
sites rotate-token|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
sites rotate-token|--password-stdin||read the password from standard input instead of prompting
sites rotate-token|<|@sites|
sites archive|--undo||restore an archived site with its tokens
sites archive|--allow-duplicate||with --undo: allow a name that another site has
sites archive|--yes||skip the confirmation prompt
sites archive|-y||skip the confirmation prompt
sites archive|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
sites archive|--password-stdin||read the password from standard input instead of prompting
sites archive|<|@sites|
sites snippet|--for|:cookieconsent klaro osano tarteaucitron c15t orejime tcf consent-mode|the banner of the pages
sites snippet|--site-token|none|token of the site, st-… (public)
sites snippet|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
sites snippet|--password-stdin||read the password from standard input instead of prompting
sites snippet|<|@sites|
notices|list|=notices list|List the notices of a site, newest version first
notices|show|=notices show|Print a text of a notice, exactly as it was published
notices|publish|=notices publish|Publish the texts of a policy version
notices|diff|=notices diff|Compare the texts of two versions
notices|who|=notices who|List who agreed to a policy version but to no newer one
notices list|--site|@sites|name or id of the site (the profile’s site)
notices list|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
notices list|--password-stdin||read the password from standard input instead of prompting
notices show|--site|@sites|name or id of the site (the profile’s site)
notices show|--lang|none|the language, if there are several
notices show|--at|none|the version in effect at this time, instead of a version number
notices show|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
notices show|--password-stdin||read the password from standard input instead of prompting
notices publish|--site|@sites|name or id of the site (the profile’s site)
notices publish|--file|files|a text: .txt, .md, .html or .pdf; repeatable
notices publish|--lang|none|language of a file, unless its name includes it (policy.de.md); repeat for each file
notices publish|--purpose|none|a purpose by its key in preferences, or key@de=title; repeatable
notices publish|--purpose-iri|none|IRI of a purpose in the W3C Data Privacy Vocabulary; repeatable
notices publish|--controller|none|name and contact details of the data controller
notices publish|--valid-for|none|how long a consent is valid, such as P1Y, or none (as in the previous version)
notices publish|--renewal||invalidate consents to earlier versions
notices publish|--no-renewal||keep consents to earlier versions valid (the default)
notices publish|--effective-from|none|when it takes effect (default: immediately)
notices publish|--policy-version|none|the policy version (default: the next one)
notices publish|--draft||upload everything without publishing
notices publish|--yes||skip the confirmation prompt
notices publish|-y||skip the confirmation prompt
notices publish|--dry-run||print the method, URL and body of each request instead of sending it
notices publish|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
notices publish|--password-stdin||read the password from standard input instead of prompting
notices diff|--site|@sites|name or id of the site (the profile’s site)
notices diff|--lang|none|compare only the text in this language
notices diff|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
notices diff|--password-stdin||read the password from standard input instead of prompting
notices who|--version|none|the policy version
notices who|--site|@sites|id or name of the site
notices who|--cursor|none|continue a list that ended early
keys|list|=keys list|List API keys, newest first
keys|create|=keys create|Create an API key
keys|revoke|=keys revoke|Revoke API keys
keys list|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
keys list|--password-stdin||read the password from standard input instead of prompting
keys create|--name|none|name of the key
keys create|--scope|none|scopes of the key: read, write, erase, notices, import, webhooks (read,write,erase)
keys create|--site|@sites|only records of this site, by its name or id; repeatable (every site)
keys create|--expires|none|expiry: 90d from now, 2027-01-31 (end of day, UTC) or RFC 3339 (never)
keys create|--dry-run||print the method, URL and body of each request instead of sending it
keys create|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
keys create|--password-stdin||read the password from standard input instead of prompting
keys revoke|--yes||skip the confirmation prompt
keys revoke|-y||skip the confirmation prompt
keys revoke|--confirm|none|skip the prompt, but only if exactly n keys match
keys revoke|--dry-run||print the method, URL and body of each request instead of sending it
keys revoke|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
keys revoke|--password-stdin||read the password from standard input instead of prompting
webhooks|list|=webhooks list|List webhooks, newest first
webhooks|show|=webhooks show|Show a webhook and its last attempts
webhooks|create|=webhooks create|Create a webhook
webhooks|update|=webhooks update|Change, pause or resume a webhook
webhooks|rotate-secret|=webhooks rotate-secret|Issue a new secret for a webhook
webhooks|test|=webhooks test|Send a test to a webhook
webhooks|rewind|=webhooks rewind|Send events to a webhook again
webhooks|rm|=webhooks rm|Remove a webhook
webhooks|listen|=webhooks listen|Forward events to this machine, for development
webhooks create|--dry-run||print the method, URL and body of each request instead of sending it
webhooks create|--type|none|only events of this type, such as withdrawn or erased; repeatable (every type)
webhooks create|--site|@sites|only events of this site, by its name or id; repeatable (every site)
webhooks create|--ed25519||sign with Ed25519, so that the receiver needs only a public key
webhooks update|--dry-run||print the method, URL and body of each request instead of sending it
webhooks update|--url|none|new address
webhooks update|--type|none|only events of this type; repeatable
webhooks update|--all-types||events of every type
webhooks update|--site|@sites|only events of this site, by its name or id; repeatable
webhooks update|--all-sites||events of every site, and account.… events
webhooks update|--pause||send nothing until --resume
webhooks update|--resume||continue where it stopped
webhooks rotate-secret|--dry-run||print the method, URL and body of each request instead of sending it
webhooks rotate-secret|--overlap|none|hours in which the previous secret signs, too (24); 0 ends it immediately
webhooks rewind|--dry-run||print the method, URL and body of each request instead of sending it
webhooks rewind|--to|none|behind this position, at a time (RFC 3339, 2026-01-31, 7d), or start
webhooks rewind|--yes||skip the confirmation prompt
webhooks rewind|-y||skip the confirmation prompt
webhooks rm|--dry-run||print the method, URL and body of each request instead of sending it
webhooks rm|--yes||skip the confirmation prompt
webhooks rm|-y||skip the confirmation prompt
webhooks listen|--forward-to|none|address that gets the events, such as http://localhost:3000/consents
webhooks listen|--secret-file|files|sign with the secret in this file, whsec_…, instead of a random one
webhooks listen|--after|none|begin behind this position
webhooks listen|--from|none|begin at this time: RFC 3339, 2026-01-31 (UTC), 7d or 24h ago
webhooks listen|--type|none|only events of this type, such as withdrawn or erased; repeatable
audit|list|=audit list|List the changes of settings, newest first
audit|reads|=audit reads|List who read what of which person, newest first
audit list|--actor|none|only changes by this user (e-mail), API key (name), id, or kind: admin, system
audit list|--action|:account_created site_created site_updated site_token_rotated key_created key_revoked user_added user_removed password_changed quota_changed notice_published request_created request_updated request_extended request_closed hold_added hold_removed document_kept webhook_created webhook_updated webhook_removed webhook_secret_rotated webhook_rewound webhook_failing webhook_recovered records_purged imported|only changes of a kind
audit list|--target|none|only changes to this id, or to a kind: account, site, api_key, user, notice, request, hold, document, webhook
audit list|--from|none|made at this time or later: RFC 3339, 2026-01-31 (UTC), 7d or 24h ago
audit list|--to|none|made at this time or earlier; a date includes its whole day
audit list|--limit|none|list at most n entries
audit reads|--subject|none|only reads of this data subject
audit reads|--from|none|made at this time or later: RFC 3339, 2026-01-31 (UTC), 7d or 24h ago
audit reads|--to|none|made at this time or earlier; a date includes its whole day
audit reads|--limit|none|list at most n reads
audit reads|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
audit reads|--password-stdin||read the password from standard input instead of prompting
usage|--email|none|sign in as this user (CONSENTCTL_EMAIL, or the profile’s email)
usage|--password-stdin||read the password from standard input instead of prompting
auth|login|=auth login|Store an API key in a profile, or create one
auth|logout|=auth logout|Remove the stored key of a profile
auth|token|=auth token|Print the API key in use, for scripts
auth|status|=auth status|Show which key is used and whether it is valid
auth login|--with-key||read the key from standard input instead of prompting
auth login|--email|none|sign in and create a key instead of prompting for one
auth login|--password-stdin||read the password from standard input instead of prompting
auth login|--site|@sites|default site of new records, by its name or id
auth login|--key-name|none|name of the new key (consentctl@HOSTNAME and the time)
auth login|--scope|none|scopes of the key: read, write, erase, notices, import, webhooks (read,write,erase)
config|list|=config list|List every setting and its source
config|get|=config get|Print the value of one setting
config|set|=config set|Change a setting of a profile
config|unset|=config unset|Remove a setting from a profile
config|path|=config path|Show where settings and state are stored
config|profiles|=config profiles|List profiles (stored instances)
config|remove|=config remove|Remove a profile and its key
config get|<|@settings|
config set|<|@settings|
config unset|<|@settings|
config remove|<|@profiles|
serve|--host|none|address to listen on (HOST; 127.0.0.1)
serve|--port|none|port to listen on (PORT; 8787)
serve|--database-url|none|a PostgreSQL server (DATABASE_URL)
serve|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
serve|--quickstart||on an empty database, create an account and store its key in profile "local"
admin|account|=admin account|Manage accounts
admin|verify|=admin verify|Verify every record, its history and the log
admin|checkpoint|=admin checkpoint|Write a signed checkpoint of the log to a file
admin|signing-key|=admin signing-key|Manage the keys that the server signs with
admin|user|=admin user|Manage users
admin|purge|=admin purge|Purge personal data of deleted records
admin|grants|=admin grants|Print the SQL for a database role that cannot change history
admin|export|=admin export|Export the whole database to a file
admin|import|=admin import|Import an export into an empty database
admin account|create|=admin account create|Create an account with an owner, a site and an API key
admin account|list|=admin account list|List accounts with their quotas and usage
admin account|quota|=admin account quota|Change the monthly quota of an account
admin account create|--email|none|e-mail address that the owner signs in with
admin account create|--site|none|name of the first site (default)
admin account create|--plan|none|unlimited, free, pro (unlimited)
admin account create|--monthly-quota|none|monthly quota of API requests, instead of the plan’s
admin account create|--password-stdin||read the owner’s password from standard input instead of generating one
admin account create|--database-url|none|a PostgreSQL server (DATABASE_URL)
admin account create|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
admin account list|--database-url|none|a PostgreSQL server (DATABASE_URL)
admin account list|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
admin account quota|--database-url|none|a PostgreSQL server (DATABASE_URL)
admin account quota|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
admin verify|--account|none|only this account
admin verify|--checkpoint|files|also compare with the checkpoints in a file written by admin checkpoint
admin verify|--tsa-ca|files|also verify the timestamps with this certificate of their authority
admin verify|--database-url|none|a PostgreSQL server (DATABASE_URL)
admin verify|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
admin checkpoint|--file|files|file to append the checkpoints to; created if missing
admin checkpoint|--account|none|only this account
admin checkpoint|--database-url|none|a PostgreSQL server (DATABASE_URL)
admin checkpoint|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
admin signing-key|revoke|=admin signing-key revoke|Revoke a signing key
admin signing-key|restart|=admin signing-key restart|Introduce a new signing key after the loss of the newest
admin signing-key revoke|--reason|none|superseded or compromised
admin signing-key revoke|--yes||skip the confirmation prompt
admin signing-key revoke|-y||skip the confirmation prompt
admin signing-key revoke|--database-url|none|a PostgreSQL server (DATABASE_URL)
admin signing-key revoke|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
admin signing-key restart|--yes||skip the confirmation prompt
admin signing-key restart|-y||skip the confirmation prompt
admin signing-key restart|--database-url|none|a PostgreSQL server (DATABASE_URL)
admin signing-key restart|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
admin user|add|=admin user add|Add a user with a role to an account
admin user|list|=admin user list|List users with their roles
admin user|remove|=admin user remove|Remove a user from an account
admin user|password|=admin user password|Reset a user’s password
admin user add|--email|none|e-mail address that the user signs in with
admin user add|--role|:owner operator publisher reader|what the user may do (see below)
admin user add|--account|none|id of the account, or a user’s e-mail; required if there are several
admin user add|--password-stdin||read the password from standard input instead of generating one
admin user add|--database-url|none|a PostgreSQL server (DATABASE_URL)
admin user add|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
admin user list|--account|none|list only users of this account: its id, or a user’s e-mail
admin user list|--database-url|none|a PostgreSQL server (DATABASE_URL)
admin user list|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
admin user remove|--email|none|e-mail address that the user signs in with
admin user remove|--keep-keys||keep the API keys that the user created, and list them
admin user remove|--yes||skip the confirmation prompt
admin user remove|-y||skip the confirmation prompt
admin user remove|--database-url|none|a PostgreSQL server (DATABASE_URL)
admin user remove|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
admin user password|--email|none|e-mail address that the user signs in with
admin user password|--password-stdin||read the new password from standard input instead of generating one
admin user password|--database-url|none|a PostgreSQL server (DATABASE_URL)
admin user password|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
admin purge|--older-than|none|days since the deletion (PURGE_AFTER_DAYS, or 30 if that is never)
admin purge|--dry-run||count what would be purged without changing anything
admin purge|--database-url|none|a PostgreSQL server (DATABASE_URL)
admin purge|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
admin purge|--yes||skip the confirmation prompt
admin purge|-y||skip the confirmation prompt
admin purge|--confirm|none|skip the prompt, but only if exactly n records match
admin grants|--service-role|none|the role that the server connects as (default: consentctl_service)
admin export|--without-secrets||leave out hashes of keys, tokens and passwords, and the secrets of the service
admin export|--force||print the export even if standard output is a terminal
admin export|--database-url|none|a PostgreSQL server (DATABASE_URL)
admin export|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
admin export|<|files|
admin import|--database-url|none|a PostgreSQL server (DATABASE_URL)
admin import|--data-dir|files|the folder of the embedded database (CONSENTCTL_DATA_DIR)
admin import|<|files|
completion|bash|=completion bash|Print the bash completion script
completion|zsh|=completion zsh|Print the zsh completion script
completion|fish|=completion fish|Print the fish completion script
completion|powershell|=completion powershell|Print the powershell completion script
completion|install|=completion install|Install the completion script for your shell
completion|values|=completion values|Print values from local files for the completion scripts
completion install|--yes||skip the confirmation prompt
completion install|-y||skip the confirmation prompt
completion install|<|:bash zsh fish powershell|
completion values|<|:profiles sites settings imports erasures receipts tickets|
help|<|:options output exit-codes environment create import list get update rm restore history check withdraw watch stats subject requests hold receipt evidence verify sites notices keys webhooks audit usage auth config doctor serve admin completion help commands|
|create|=create|Create a consent record, or many from a file
|import|=import|Import records and their history from other tools
|list|=list|List records, newest first
|ls|=list|List records, newest first
|get|=get|Show records by id
|update|=update|Change the acceptance or preferences of a record
|rm|=rm|Delete records and keep their history
|delete|=rm|Delete records and keep their history
|restore|=restore|Restore deleted records that are not purged yet
|history|=history|Show the audit trail of records
|check|=check|Check if a person, or each of a list, consents to a purpose
|withdraw|=withdraw|Withdraw a purpose in all records of a person
|watch|=watch|Follow what happens to records, as it happens
|stats|=stats|Count records, persons and their answers
|subject|=subject|Find, export and erase the data of a person, with proof
|requests|=requests|Manage the register of data subject requests
|hold|=hold|Keep the records of a person from retention, purge and erasure
|receipt|=receipt|Print the signed receipt of a record
|evidence|=evidence|Write evidence of a record that verifies offline
|verify|=verify|Verify receipts, other signed documents and evidence, also offline
|sites|=sites|Manage sites
|notices|=notices|Publish and read the notices shown to people
|keys|=keys|Manage API keys
|webhooks|=webhooks|Send events to other programs, signed
|audit|=audit|See who changed which setting, and who read what of whom
|usage|=usage|Show the usage of the monthly quota
|auth|=auth|Store, check and remove API keys
|config|=config|Show and change settings
|doctor|=doctor|Check settings, instance and key, and suggest fixes
|serve|=serve|Run the server
|admin|=admin|Manage the database of a server
|completion|=completion|Set up shell completion
|help|=help|Show help on a command or a topic
|commands|=commands|List every command, with flags and examples
|--version||print the version
|-V||print the version
|--output|:table tsv json ndjson csv yaml id wide|output format
|-o|:table tsv json ndjson csv yaml id wide|output format
|--json||same as -o json; with =id,accepted: only these fields
|--quiet||print only ids and warnings
|-q||print only ids and warnings
|--header||start TSV with a header
|--columns|none|columns of tables, TSV and CSV, comma-separated
|--no-truncate||do not cut tables to the width of the terminal
|--no-csv-guard||do not escape CSV cells that look like formulas
|--out|files|write to a new file that only you can read
|--force||overwrite the file of --out
|--pager||show the records in a pager (PAGER, or less)
|--profile|@profiles|stored instance to use
|-p|@profiles|stored instance to use
|--base-url|none|address of the instance
|--color|:auto always never|when to use colour
|--timeout|none|timeout of a request, including retries
|--max-wait|none|longest single wait before a retry (60)
|--ca-file|files|additional certificate authorities to trust (PEM)
|--verbose||log settings, requests and retries to stderr
|--debug||also log headers and bodies, without personal data
|--help||print help
|-h||print help
'@ -split '\r?\n' | ForEach-Object { , $_.Split('|') }
  $isOf = { param($row, $at) $row[0] -ceq $at -or ($row[0] -eq '' -and $row[1].StartsWith('-')) }
  $kindOf = {
    param($at, $word)
    foreach ($row in $rows) { if ($row[1] -ceq $word -and (& $isOf $row $at)) { return $row[2] } }
  }
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($wordToComplete -ne '' -and $words.Count -gt 0) { $words = @($words | Select-Object -SkipLast 1) }
  $at = ''
  $kind = ''
  foreach ($word in $words) {
    if ($kind) { $kind = ''; continue }
    $kind = "$(& $kindOf $at $word)"
    if ($kind.StartsWith('=')) { $at = $kind.Substring(1); $kind = '' }
  }
  $isFlag = $wordToComplete.StartsWith('-')
  if (-not $kind -and -not $isFlag) { $kind = "$(& $kindOf $at '<')" }
  $found = switch -Regex ($kind) {
    '^files$' { Get-ChildItem "$wordToComplete*" | ForEach-Object { , @((Resolve-Path -Relative $_), $_.Name) }; break }
    '^none$' { , @('', ''); break }
    '^@' {
      consentctl completion values $kind.Substring(1) 2> $null |
        ForEach-Object { , @($(if ("$_" -match ' ') { "'$_'" } else { "$_" }), "$_") }
      break
    }
    '^:' { $kind.Substring(1).Split(' ') | ForEach-Object { , @($_, $_) }; break }
    default {
      $rows | Where-Object { $_[1] -ne '<' -and (& $isOf $_ $at) -and ($isFlag -or -not $_[1].StartsWith('-')) } |
        ForEach-Object { , @($_[1], $_[3]) }
    }
  }
  $found | Where-Object { $_ -and "$($_[0])".StartsWith($wordToComplete) } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_[0], $_[0], 'ParameterValue', $_[1])
  }
}
