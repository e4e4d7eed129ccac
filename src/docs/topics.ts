interface Topic {
  /** Commands whose help refers to this topic. */
  readonly commands: readonly string[]
  readonly text: readonly (string | readonly [term: string, text: string])[]
}

/** Each topic must fit 24 lines of 80 columns. */
export const topics: Readonly<Record<string, Topic>> = {
  output: {
    commands: ['list', 'get', 'history'],
    text: [
      'Output: records on stdout; messages, progress and errors on stderr.',
      'Formats (-o):',
      ['table', 'aligned for people: the default on a terminal'],
      ['wide', 'a table with every column in full'],
      ['tsv', 'the default elsewhere: no header (--header), never truncated'],
      ['json', 'one array, or one object for one id; --json=id,accepted: these fields'],
      ['ndjson', 'one record per line, as it arrives: for streams'],
      ['csv', 'RFC 4180 with a header; formulas are guarded by an apostrophe'],
      ['yaml', 'a document a record'],
      ['id', 'ids only, as -q: pipe them into rm - or get -'],
      '',
      'Columns:',
      '  --columns id,subject_id chooses them for table, tsv and csv. A table leaves out',
      '  columns that do not fit, and lists them.',
      '',
      'Files:',
      '  --out FILE writes a new file, mode 0600, which appears once it is complete.',
      '  A secret written with > FILE gets the permissions of your umask.',
      '',
      'Colour only on a terminal: --color, NO_COLOR, FORCE_COLOR. --pager opens a pager.',
    ],
  },
  'exit-codes': {
    commands: [],
    text: [
      'Exit codes:',
      ['0', 'done; an empty list; the reader of a list closed the pipe'],
      ['1', 'a bug, or a local failure such as a full disk'],
      ['2', 'usage: flags, bad configuration, an unknown host or certificate'],
      ['3', 'not found; of check: nothing is known'],
      ['4', 'no key, a bad or revoked key, not allowed'],
      ['5', 'the data was rejected; or a signature, chain or history does not verify'],
      ['6', 'the monthly quota is used up: do not retry'],
      ['7', 'temporary: nothing was applied, or it is safe to retry'],
      ['8', 'partial: some items were done and some not; the output says which'],
      ['9', 'declined at the prompt'],
      ['10', 'the state is not what was expected; nothing was done; of check: no'],
      ['11', 'unknown: a response was lost or is unusable; check before you retry'],
      ['130', 'ended by SIGINT (Ctrl-C)'],
      ['143', 'ended by SIGTERM or SIGHUP'],
      ['137', 'serve: ended by its watchdog, or another SIGKILL'],
      '',
      'Errors are text on stderr, or one line of JSON with --json, -o ndjson or CONSENTCTL_ERROR_FORMAT=json:',
      '  {"error":{"code","message","hint","exit","status","request_id","retryable"}}',
      'Jobs of many lines then write all else there as {"warning":{"message"}} or {"note":{"message"}}, off a terminal.',
    ],
  },
  environment: {
    commands: ['auth', 'config', 'auth login', 'config list'],
    text: [
      'Environment (a flag wins over a variable, a variable over the profile):',
      ['CONSENTCTL_API_KEY', 'the key'],
      ['CONSENTCTL_API_KEY_FILE', 'a file, or a pipe, with the key'],
      ['CONSENTCTL_BASE_URL', 'the instance'],
      ['CONSENTCTL_PROFILE', 'the profile'],
      ['CONSENTCTL_SITE', 'the site of new records'],
      ['CONSENTCTL_EMAIL', 'the account to sign in with'],
      ['CONSENTCTL_CONFIG_DIR', 'settings and keys; else ~/.config/consentctl'],
      ['CONSENTCTL_STATE_DIR', 'jobs, receipts; else ~/.local/state/consentctl'],
      ['CONSENTCTL_TIMEOUT', 'seconds, for --timeout'],
      ['CONSENTCTL_MAX_WAIT', 'seconds, for --max-wait'],
      ['CONSENTCTL_CA_FILE', 'authorities, for --ca-file'],
      ['CONSENTCTL_ALLOW_HTTP', 'hosts that get the key over plain http'],
      ['CONSENTCTL_ERROR_FORMAT', 'json: errors are JSON in every format'],
      ['NODE_DISABLE_COMPILE_CACHE', 'keeps no compiled code in ~/.cache/consentctl'],
      ['NO_COLOR, FORCE_COLOR', 'colour; COLUMNS: width off a terminal'],
      ['HTTPS_PROXY, HTTP_PROXY', 'proxies; also ALL_PROXY and NO_PROXY'],
      ['PAGER', 'the program of --pager; else less'],
      '',
      'consentctl config list shows each setting and its source.',
      'consentctl serve reads others: see server/README.md.',
    ],
  },
}

export const topicNames = Object.keys(topics)
