# bash completions for consentctl. Made from its commands: see "consentctl completion --help".
_consentctl() {
  local at='' commands='' flags='' words='' i
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  # To bash the sign in --output=json is a word of its own.
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = && $COMP_CWORD -gt 2 ]]; then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case " --output -o --columns --out --profile -p --base-url --color --timeout --max-wait --ca-file --site --subject --pref --preferences --consent-id --policy-version --ip-address --user-agent --notice-locale --file --format --map --true --false --concurrency --max-errors --failed-out --resume --map-init --from --map-out --timezone --refused-out --receipt-out --confirm --to --limit --at --expiring --cursor --max-requests --where --checkpoint --purpose --by --email --also --request --ticket --reason --received --export-first --plan-out --apply --repeat-since --certificate-out --public-key --assignee --kind --receipt --outcome --keys --name --origin --retention-days --add-origin --remove-origin --overlap --for --site-token --lang --purpose-iri --controller --valid-for --effective-from --version --scope --expires --actor --action --target --key-name --host --port --database-url --data-dir --plan --monthly-quota --account --tsa-ca --role --older-than " in *" ${COMP_WORDS[i-1]} "*) continue ;; esac
    case "$at ${COMP_WORDS[i]}" in
      ' create') at='create' ;;
      ' import') at='import' ;;
      ' list'|' ls') at='list' ;;
      ' get') at='get' ;;
      ' update') at='update' ;;
      ' rm'|' delete') at='rm' ;;
      ' restore') at='restore' ;;
      ' history') at='history' ;;
      ' check') at='check' ;;
      ' stats') at='stats' ;;
      ' subject') at='subject' ;;
      ' requests') at='requests' ;;
      ' receipt') at='receipt' ;;
      ' evidence') at='evidence' ;;
      ' verify') at='verify' ;;
      ' sites') at='sites' ;;
      ' notices') at='notices' ;;
      ' keys') at='keys' ;;
      ' audit') at='audit' ;;
      ' usage') at='usage' ;;
      ' auth') at='auth' ;;
      ' config') at='config' ;;
      ' doctor') at='doctor' ;;
      ' serve') at='serve' ;;
      ' admin') at='admin' ;;
      ' completion') at='completion' ;;
      ' help') at='help' ;;
      ' options') at='options' ;;
      ' commands') at='commands' ;;
      'subject find') at='subject find' ;;
      'subject export') at='subject export' ;;
      'subject erase') at='subject erase' ;;
      'subject purge') at='subject purge' ;;
      'subject resume') at='subject resume' ;;
      'subject verify') at='subject verify' ;;
      'subject receipts') at='subject receipts' ;;
      'subject keys') at='subject keys' ;;
      'subject keys show') at='subject keys show' ;;
      'requests list') at='requests list' ;;
      'requests next') at='requests next' ;;
      'requests show') at='requests show' ;;
      'requests add') at='requests add' ;;
      'requests update') at='requests update' ;;
      'requests extend') at='requests extend' ;;
      'requests close') at='requests close' ;;
      'requests report') at='requests report' ;;
      'sites list') at='sites list' ;;
      'sites create') at='sites create' ;;
      'sites update') at='sites update' ;;
      'sites rotate-token') at='sites rotate-token' ;;
      'sites archive') at='sites archive' ;;
      'sites snippet') at='sites snippet' ;;
      'notices list') at='notices list' ;;
      'notices show') at='notices show' ;;
      'notices publish') at='notices publish' ;;
      'notices diff') at='notices diff' ;;
      'notices who') at='notices who' ;;
      'keys list') at='keys list' ;;
      'keys create') at='keys create' ;;
      'keys revoke') at='keys revoke' ;;
      'audit list') at='audit list' ;;
      'auth login') at='auth login' ;;
      'auth logout') at='auth logout' ;;
      'auth token') at='auth token' ;;
      'auth status') at='auth status' ;;
      'config list') at='config list' ;;
      'config get') at='config get' ;;
      'config set') at='config set' ;;
      'config unset') at='config unset' ;;
      'config path') at='config path' ;;
      'config profiles') at='config profiles' ;;
      'config remove') at='config remove' ;;
      'admin account') at='admin account' ;;
      'admin verify') at='admin verify' ;;
      'admin checkpoint') at='admin checkpoint' ;;
      'admin signing-key') at='admin signing-key' ;;
      'admin user') at='admin user' ;;
      'admin purge') at='admin purge' ;;
      'admin export') at='admin export' ;;
      'admin import') at='admin import' ;;
      'admin account create') at='admin account create' ;;
      'admin account list') at='admin account list' ;;
      'admin account quota') at='admin account quota' ;;
      'admin signing-key revoke') at='admin signing-key revoke' ;;
      'admin signing-key restart') at='admin signing-key restart' ;;
      'admin user add') at='admin user add' ;;
      'admin user list') at='admin user list' ;;
      'admin user remove') at='admin user remove' ;;
      'admin user password') at='admin user password' ;;
      'completion bash') at='completion bash' ;;
      'completion zsh') at='completion zsh' ;;
      'completion fish') at='completion fish' ;;
      'completion powershell') at='completion powershell' ;;
      'completion install') at='completion install' ;;
      'completion values') at='completion values' ;;
    esac
  done
  case "$at $previous" in
      'create --site'|'import --site'|'list --site'|'check --site'|'stats --site'|'notices list --site'|'notices show --site'|'notices publish --site'|'notices diff --site'|'notices who --site'|'auth login --site') words=$(consentctl completion values sites 2> /dev/null); [[ $words ]] || return ;;
      'create --subject'|'create --pref'|'create --preferences'|'create --consent-id'|'create --policy-version'|'create --ip-address'|'create --user-agent'|'create --notice-locale'|'create --format'|'create --true'|'create --false'|'create --concurrency'|'create --max-errors'|'import --policy-version'|'import --timezone'|'import --confirm'|'list --subject'|'list --from'|'list --to'|'list --limit'|'list --consent-id'|'list --at'|'list --expiring'|'list --cursor'|'list --max-requests'|'list --concurrency'|'get --at'|'update --pref'|'update --preferences'|'update --where'|'update --confirm'|'update --format'|'update --true'|'update --false'|'update --concurrency'|'update --max-errors'|'rm --confirm'|'rm --format'|'rm --true'|'rm --false'|'rm --concurrency'|'rm --max-errors'|'check --purpose'|'check --at'|'stats --from'|'stats --to'|'stats --email'|'subject find --also'|'subject export --also'|'subject erase --also'|'subject erase --ticket'|'subject erase --reason'|'subject erase --received'|'subject erase --repeat-since'|'subject erase --confirm'|'subject purge --confirm'|'subject verify --subject'|'subject receipts --subject'|'subject receipts --ticket'|'subject receipts --format'|'requests list --assignee'|'requests list --subject'|'requests next --assignee'|'requests add --received'|'requests add --also'|'requests add --assignee'|'requests update --assignee'|'requests update --received'|'requests update --subject'|'requests extend --reason'|'requests close --reason'|'requests close --confirm'|'requests report --from'|'requests report --to'|'requests report --format'|'evidence --subject'|'sites list --email'|'sites create --name'|'sites create --policy-version'|'sites create --origin'|'sites create --retention-days'|'sites create --email'|'sites update --name'|'sites update --policy-version'|'sites update --origin'|'sites update --add-origin'|'sites update --remove-origin'|'sites update --retention-days'|'sites update --email'|'sites rotate-token --overlap'|'sites rotate-token --email'|'sites archive --email'|'sites snippet --site-token'|'sites snippet --email'|'notices list --email'|'notices show --lang'|'notices show --at'|'notices show --email'|'notices publish --lang'|'notices publish --purpose'|'notices publish --purpose-iri'|'notices publish --controller'|'notices publish --valid-for'|'notices publish --effective-from'|'notices publish --policy-version'|'notices publish --email'|'notices diff --lang'|'notices diff --email'|'notices who --version'|'notices who --cursor'|'keys list --email'|'keys create --name'|'keys create --scope'|'keys create --expires'|'keys create --email'|'keys revoke --confirm'|'keys revoke --email'|'audit list --actor'|'audit list --target'|'audit list --from'|'audit list --to'|'audit list --limit'|'usage --email'|'auth login --email'|'auth login --key-name'|'auth login --scope'|'serve --host'|'serve --port'|'serve --database-url'|'admin account create --email'|'admin account create --site'|'admin account create --plan'|'admin account create --monthly-quota'|'admin account create --database-url'|'admin account list --database-url'|'admin account quota --database-url'|'admin verify --account'|'admin verify --database-url'|'admin checkpoint --account'|'admin checkpoint --database-url'|'admin signing-key revoke --reason'|'admin signing-key revoke --database-url'|'admin signing-key restart --database-url'|'admin user add --email'|'admin user add --account'|'admin user add --database-url'|'admin user list --account'|'admin user list --database-url'|'admin user remove --email'|'admin user remove --database-url'|'admin user password --email'|'admin user password --database-url'|'admin purge --older-than'|'admin purge --database-url'|'admin purge --confirm'|'admin export --database-url'|'admin import --database-url'|*' --columns'|*' --base-url'|*' --timeout'|*' --max-wait') return ;;
      'create --file'|'create --map'|'create --failed-out'|'create --map-init'|'import --map'|'import --map-out'|'import --refused-out'|'import --failed-out'|'import --receipt-out'|'update --file'|'update --map'|'update --failed-out'|'rm --file'|'rm --map'|'rm --failed-out'|'history --checkpoint'|'subject erase --export-first'|'subject erase --plan-out'|'subject erase --apply'|'subject erase --file'|'subject verify --certificate-out'|'subject verify --public-key'|'requests update --receipt'|'verify --keys'|'verify --public-key'|'notices publish --file'|'serve --data-dir'|'admin account create --data-dir'|'admin account list --data-dir'|'admin account quota --data-dir'|'admin verify --checkpoint'|'admin verify --tsa-ca'|'admin verify --data-dir'|'admin checkpoint --file'|'admin checkpoint --data-dir'|'admin signing-key revoke --data-dir'|'admin signing-key restart --data-dir'|'admin user add --data-dir'|'admin user list --data-dir'|'admin user remove --data-dir'|'admin user password --data-dir'|'admin purge --data-dir'|'admin export --data-dir'|'admin import --data-dir'|*' --out'|*' --ca-file') compopt -o default 2> /dev/null; return ;;
      'create --resume'|'import --resume'|'update --resume'|'rm --resume') words=$(consentctl completion values imports 2> /dev/null); [[ $words ]] || return ;;
      'import --from') words=$'usercentrics\niubenda\ndidomi\ncookie-script\ncommanders-act\nconsenti\nc15t\nklaro\ncsv' ;;
      'stats --by') words=$'day\nweek\nmonth\nsite\npolicy\ncountry\npreference' ;;
      'subject find --request'|'subject export --request'|'subject erase --request') words=$(consentctl completion values tickets 2> /dev/null); [[ $words ]] || return ;;
      'requests list --kind'|'requests add --kind'|'requests update --kind') words=$'access\nerasure\nrectification\nobjection' ;;
      'requests close --outcome') words=$'done\nrefused\nwithdrawn' ;;
      'sites snippet --for') words=$'cookieconsent\nklaro\nosano\ntarteaucitron\nc15t' ;;
      'audit list --action') words=$'account_created\nsite_created\nsite_updated\nsite_token_rotated\nkey_created\nkey_revoked\nuser_added\nuser_removed\npassword_changed\nquota_changed\nnotice_published\nrecords_purged\nimported' ;;
      'admin user add --role') words=$'owner\nreader' ;;
      *' --output'|*' -o') words=$'table\ntsv\njson\nndjson\ncsv\nyaml\nid\nwide' ;;
      *' --profile'|*' -p') words=$(consentctl completion values profiles 2> /dev/null); [[ $words ]] || return ;;
      *' --color') words=$'auto\nalways\nnever' ;;
  esac
  if [[ -z $words && $current != -* ]]; then
    case $at in
      'import'|'verify'|'admin export'|'admin import') compopt -o default 2> /dev/null; return ;;
      'subject purge'|'subject verify'|'subject receipts') words=$(consentctl completion values receipts 2> /dev/null); [[ $words ]] || return ;;
      'subject resume') words=$(consentctl completion values erasures 2> /dev/null); [[ $words ]] || return ;;
      'requests show'|'requests add'|'requests update'|'requests extend'|'requests close') words=$(consentctl completion values tickets 2> /dev/null); [[ $words ]] || return ;;
      'sites update'|'sites rotate-token'|'sites archive'|'sites snippet') words=$(consentctl completion values sites 2> /dev/null); [[ $words ]] || return ;;
      'config get'|'config set'|'config unset') words=$(consentctl completion values settings 2> /dev/null); [[ $words ]] || return ;;
      'config remove') words=$(consentctl completion values profiles 2> /dev/null); [[ $words ]] || return ;;
      'completion install') words=$'bash\nzsh\nfish\npowershell' ;;
      'completion values') words=$'profiles\nsites\nsettings\nimports\nerasures\nreceipts\ntickets' ;;
      'help') words=$'output\nexit-codes\nenvironment\nfiles\nerasure\ncreate\nimport\nlist\nget\nupdate\nrm\nrestore\nhistory\ncheck\nstats\nsubject\nrequests\nreceipt\nevidence\nverify\nsites\nnotices\nkeys\naudit\nusage\nauth\nconfig\ndoctor\nserve\nadmin\ncompletion\nhelp\noptions\ncommands' ;;
    esac
  fi
  case $at in
    '') commands='create import list ls get update rm delete restore history check stats subject requests receipt evidence verify sites notices keys audit usage auth config doctor serve admin completion help options commands' flags='' ;;
    'create') commands='' flags='--site --subject --accepted --refused --pref --preferences --consent-id --policy-version --ip-address --user-agent --notice-locale --file --format --map --true --false --csv-unguard --concurrency --max-errors --fail-fast --failed-out --resume --ignore-quota --allow-empty --map-init --no-batch --dry-run' ;;
    'import') commands='' flags='--from --site --dry-run --map --map-out --policy-version --timezone --csv-unguard --refused-out --failed-out --receipt-out --resume --ignore-quota --allow-empty --yes -y --confirm' ;;
    'list') commands='' flags='--site --subject --accepted --refused --from --to --limit --all --count --include-deleted --consent-id --imported --witnessed --at --expiring --expired --cursor --max-requests --concurrency' ;;
    'get') commands='' flags='--include-deleted --at' ;;
    'update') commands='' flags='--accepted --refused --pref --preferences --replace-preferences --where --yes -y --confirm --file --format --map --true --false --csv-unguard --concurrency --max-errors --fail-fast --failed-out --resume --ignore-quota --allow-empty --dry-run' ;;
    'rm') commands='' flags='--yes -y --confirm --ignore-missing --file --format --map --true --false --csv-unguard --concurrency --max-errors --fail-fast --failed-out --resume --ignore-quota --allow-empty --dry-run' ;;
    'restore') commands='' flags='--dry-run --despite-erasure' ;;
    'history') commands='' flags='--verify --checkpoint' ;;
    'check') commands='' flags='--purpose --site --at --only-witnessed' ;;
    'stats') commands='' flags='--site --from --to --by --exact --email --password-stdin' ;;
    'subject') commands='find export erase purge resume verify receipts keys' flags='' ;;
    'subject find') commands='' flags='--also --request --all-profiles --like' ;;
    'subject export') commands='' flags='--also --request' ;;
    'subject erase') commands='' flags='--also --request --ticket --reason --received --export-first --plan-out --apply --dry-run --file --repeat-since --one-person --show-subject --yes -y --confirm' ;;
    'subject purge') commands='' flags='--dry-run --yes -y --confirm' ;;
    'subject resume') commands='' flags='' ;;
    'subject verify') commands='' flags='--live --purged --certificate-out --subject --public-key' ;;
    'subject receipts') commands='' flags='--subject --ticket --format' ;;
    'subject keys') commands='show' flags='' ;;
    'subject keys show') commands='' flags='' ;;
    'requests') commands='list next show add update extend close report' flags='' ;;
    'requests list') commands='' flags='--check --closed --all --assignee --kind --subject' ;;
    'requests next') commands='' flags='--assignee' ;;
    'requests show') commands='' flags='--history' ;;
    'requests add') commands='' flags='--kind --received --also --assignee' ;;
    'requests update') commands='' flags='--assignee --unassign --kind --received --subject --receipt' ;;
    'requests extend') commands='' flags='--reason' ;;
    'requests close') commands='' flags='--outcome --reason --yes -y --confirm' ;;
    'requests report') commands='' flags='--from --to --format' ;;
    'receipt') commands='' flags='' ;;
    'evidence') commands='' flags='--subject' ;;
    'verify') commands='' flags='--keys --public-key --live' ;;
    'sites') commands='list create update rotate-token archive snippet' flags='' ;;
    'sites list') commands='' flags='--archived --email --password-stdin' ;;
    'sites create') commands='' flags='--dry-run --name --policy-version --origin --retention-days --strict-notices --no-strict-notices --allow-duplicate --email --password-stdin' ;;
    'sites update') commands='' flags='--dry-run --name --policy-version --origin --add-origin --remove-origin --clear-origins --retention-days --clear-retention --strict-notices --no-strict-notices --allow-duplicate --email --password-stdin' ;;
    'sites rotate-token') commands='' flags='--dry-run --overlap --yes -y --email --password-stdin' ;;
    'sites archive') commands='' flags='--undo --allow-duplicate --yes -y --email --password-stdin' ;;
    'sites snippet') commands='' flags='--for --site-token --email --password-stdin' ;;
    'notices') commands='list show publish diff who' flags='' ;;
    'notices list') commands='' flags='--site --email --password-stdin' ;;
    'notices show') commands='' flags='--site --lang --at --email --password-stdin' ;;
    'notices publish') commands='' flags='--site --file --lang --purpose --purpose-iri --controller --valid-for --renewal --no-renewal --effective-from --policy-version --draft --yes -y --dry-run --email --password-stdin' ;;
    'notices diff') commands='' flags='--site --lang --email --password-stdin' ;;
    'notices who') commands='' flags='--version --site --cursor' ;;
    'keys') commands='list create revoke' flags='' ;;
    'keys list') commands='' flags='--email --password-stdin' ;;
    'keys create') commands='' flags='--name --scope --expires --dry-run --email --password-stdin' ;;
    'keys revoke') commands='' flags='--yes -y --confirm --dry-run --email --password-stdin' ;;
    'audit') commands='list' flags='' ;;
    'audit list') commands='' flags='--actor --action --target --from --to --limit' ;;
    'usage') commands='' flags='--email --password-stdin' ;;
    'auth') commands='login logout token status' flags='' ;;
    'auth login') commands='' flags='--with-key --email --password-stdin --site --key-name --scope' ;;
    'auth logout') commands='' flags='' ;;
    'auth token') commands='' flags='' ;;
    'auth status') commands='' flags='' ;;
    'config') commands='list get set unset path profiles remove' flags='' ;;
    'config list') commands='' flags='' ;;
    'config get') commands='' flags='' ;;
    'config set') commands='' flags='' ;;
    'config unset') commands='' flags='' ;;
    'config path') commands='' flags='' ;;
    'config profiles') commands='' flags='' ;;
    'config remove') commands='' flags='' ;;
    'doctor') commands='' flags='' ;;
    'serve') commands='' flags='--host --port --database-url --data-dir --quickstart' ;;
    'admin') commands='account verify checkpoint signing-key user purge export import' flags='' ;;
    'admin account') commands='create list quota' flags='' ;;
    'admin account create') commands='' flags='--email --site --plan --monthly-quota --password-stdin --database-url --data-dir' ;;
    'admin account list') commands='' flags='--database-url --data-dir' ;;
    'admin account quota') commands='' flags='--database-url --data-dir' ;;
    'admin verify') commands='' flags='--account --checkpoint --tsa-ca --database-url --data-dir' ;;
    'admin checkpoint') commands='' flags='--file --account --database-url --data-dir' ;;
    'admin signing-key') commands='revoke restart' flags='' ;;
    'admin signing-key revoke') commands='' flags='--reason --database-url --data-dir' ;;
    'admin signing-key restart') commands='' flags='--database-url --data-dir' ;;
    'admin user') commands='add list remove password' flags='' ;;
    'admin user add') commands='' flags='--email --role --account --password-stdin --database-url --data-dir' ;;
    'admin user list') commands='' flags='--account --database-url --data-dir' ;;
    'admin user remove') commands='' flags='--email --keep-keys --yes -y --database-url --data-dir' ;;
    'admin user password') commands='' flags='--email --password-stdin --database-url --data-dir' ;;
    'admin purge') commands='' flags='--older-than --dry-run --database-url --data-dir --yes -y --confirm' ;;
    'admin export') commands='' flags='--force --database-url --data-dir' ;;
    'admin import') commands='' flags='--database-url --data-dir' ;;
    'completion') commands='bash zsh fish powershell install values' flags='' ;;
    'completion bash') commands='' flags='' ;;
    'completion zsh') commands='' flags='' ;;
    'completion fish') commands='' flags='' ;;
    'completion powershell') commands='' flags='' ;;
    'completion install') commands='' flags='--yes -y' ;;
    'completion values') commands='' flags='' ;;
    'help') commands='' flags='' ;;
    'options') commands='' flags='' ;;
    'commands') commands='' flags='' ;;
  esac
  if [[ -z $words ]]; then
    [[ $current == -* ]] && words="$flags --version -V --output -o --json --quiet -q --header --columns --no-truncate --no-csv-guard --excel --out --force --pager --profile -p --base-url --color --timeout --max-wait --ca-file --verbose --debug --help -h" || words=$commands
    words=${words// /$'\n'}
  fi
  # Not compgen -W, which evaluates what stands in its words.
  COMPREPLY=()
  while IFS= read -r i; do
    [[ -n $i && $i == "$current"* ]] || continue
    [[ $i != *' '* ]] || printf -v i '%q' "$i"
    COMPREPLY+=("$i")
  done <<< "$words"
}
complete -F _consentctl consentctl
