// A tour of the product in a temporary folder on a free port: each command as a user would type it, with its output.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const fixtures = relative(root, fileURLToPath(new URL('fixtures/consents.ndjson', import.meta.url)))
const columns = Number(process.env.COLUMNS) || 80
const subject = 'maria.rossi@example.com'
const folder = mkdtempSync(join(tmpdir(), 'consentctl-demo-'))

/** An environment of its own: nothing of the user's profiles is read, nothing is left behind. */
const env = {
  ...process.env,
  CONSENTCTL_CONFIG_DIR: join(folder, 'config'),
  CONSENTCTL_STATE_DIR: join(folder, 'state'),
  CONSENTCTL_DATA_DIR: join(folder, 'data'),
  XDG_CACHE_HOME: join(folder, 'cache'),
  CONSENTCTL_PROFILE: undefined,
  CONSENTCTL_BASE_URL: undefined,
  CONSENTCTL_API_KEY: undefined,
  CONSENTCTL_SITE: undefined,
  DATABASE_URL: undefined,
  LOG_LEVEL: 'warn',
  COLUMNS: String(columns),
}

/** Prints text in lines of that width, but for indented ones and words that are longer. A command breaks with the shell's backslash. */
function print(text) {
  for (const line of text.split('\n')) {
    if (line.startsWith('  ')) {
      console.log(line) // to be copied
      continue
    }
    const end = line.startsWith('$ ') ? ' \\' : ''
    const lines = ['']
    for (const word of line.match(/\s*\S+/g) ?? []) {
      const last = lines.at(-1)
      if (last.length + word.length + end.length <= columns || last.trim() === '') lines[lines.length - 1] = last + word
      else lines.push(`    ${word.trim()}`)
    }
    console.log(lines.join(`${end}\n`))
  }
}

/** Runs a line of the tour, a pipe between two commands included, and prints it with its real output. */
async function show(title, line, { expect = 0, keep = 12 } = {}) {
  print(`\n# ${title}\n$ ${line}`)
  const children = line.split(' | ').map(command => start(command.split(' ')))
  for (const [index, child] of children.entries()) {
    const before = children[index - 1]
    if (before) before.stdout.pipe(child.stdin)
    else child.stdin.end()
  }
  const last = children.at(-1)
  const talk = Promise.all(children.map(child => text(child.stderr)))
  const [stdout, stderr] = await Promise.all([text(last.stdout), talk, once(last, 'close')])
  const lines = stdout.split('\n').slice(0, -1)
  if (lines.length > 0) print(lines.slice(0, keep).join('\n'))
  if (lines.length > keep) console.log(`… ${lines.length - keep} lines more`)
  if (stderr.join('')) print(stderr.join('').trimEnd())
  check(last.exitCode === expect, `the exit code is ${expect}, not ${last.exitCode}`)
  if (expect !== 0) console.log(`(exit code ${expect})`)
  return stdout
}

function start([, ...args]) {
  return spawn(process.execPath, [join(root, 'bin/consentctl.cjs'), ...args], { cwd: root, env })
}

function check(isTrue, what) {
  if (!isTrue) throw new Error(`the tour expected that ${what}`)
}

async function tour() {
  await show('A thousand records, as a site’s backend would send them', `consentctl create --file ${fixtures}`, {
    keep: 3,
  })
  await show('The newest of them', 'consentctl list --limit 5 -o table')
  await show('Who refused, for another program', 'consentctl list --refused --limit 2 -o tsv --columns id,accepted')
  const held = await show('All that is held on one person', `consentctl list --subject ${subject} -o table`)
  check(held.match(/^[\da-f]{8}-[\da-f-]{27}/gm)?.length === 7, 'she has seven records')
  const id = /^([\da-f]{8}-[\da-f-]{27}) .* yes /m.exec(held)?.[1] ?? ''
  await show('One record in full', `consentctl get ${id} -o table`, { keep: 20 })
  await show('She withdraws', `consentctl update ${id} --refused --pref sms=false --pref post=false -q`)
  const states = await show(
    'Nothing is overwritten: both states are in the history',
    `consentctl history ${id} -o table`,
  )
  check(/created +yes [\s\S]*withdrawn +no /.test(states), 'she had accepted, and withdrew')
  await show('She asks to be erased', `consentctl subject erase ${subject} --ticket DSR-7 --confirm 7 -o table`, {
    keep: 4,
  })
  const proof = await show('The receipt is signed, and true', 'consentctl subject verify last --live -o table')
  check(!/fail/.test(proof), 'the receipt verifies')
  const left = await show('She is in no list now', `consentctl list --subject ${subject} -o json`)
  check(left.trim() === '[]', 'nothing is left in the lists')
  await show('Her records are not found', `consentctl get ${id}`, { expect: 3 })
  const history = await show(
    'Their history is still there, and ends in the deletion',
    `consentctl history ${id} -o table`,
  )
  check(history.includes('deleted'), 'the history ends in the deletion')
}

/** Starts an instance and resolves when it has printed what it prints at its very first start. */
async function serve() {
  const line = 'consentctl serve --quickstart --port 0'
  print(`# An instance of its own, with the embedded database\n$ ${line}`)
  const server = start(line.split(' '))
  server.stdin.end()
  server.stderr.pipe(process.stderr)
  for await (const printed of createInterface({ input: server.stdout })) {
    print(printed)
    if (printed.includes('--help')) return server
  }
  throw new Error('the instance did not start')
}

let server
try {
  server = await serve()
  await tour()
  console.log('\nThat was the tour. To keep an instance: npm start')
} finally {
  server?.kill('SIGTERM')
  if (server && server.exitCode === null) await once(server, 'close')
  rmSync(folder, { recursive: true, force: true })
}
