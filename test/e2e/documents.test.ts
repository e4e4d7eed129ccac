import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useFolder } from '../support/cli.ts'
import { pathWithConsentctl, readCommands, runScript } from '../support/documented-commands.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { hasTerminal, openTerminal } from '../support/terminal.ts'

/** With this set the outputs in the documents are replaced by what the commands print now. */
const isUpdate = process.env['CONSENTCTL_TEST_UPDATE'] === '1'

const hasJq = spawnSync('jq', ['--version']).status === 0
if (!hasJq) {
  if (process.env['CI']) throw new Error('CI needs jq')
  process.stderr.write('\n*** SKIPPED: the script of the README. There is no jq. ***\n\n')
}

const folder = useFolder()
let server: ServerProcess
let password = ''
let key = ''

beforeAll(async () => {
  if (!hasTerminal) return
  mkdirSync(`${folder.path}/work`)
  server = await startServer(['--quickstart', '--port', '0'], { HOME: folder.path }, /--help/)
  password = /password +(\S+)/i.exec(server.output())?.[1] ?? ''
  key = /sk-\w+/.exec(server.output())?.[0] ?? ''
})
afterAll(() => server?.end('SIGTERM'))

interface Step {
  readonly command: string
  /** What the document shows below the command. */
  readonly shown: string
}

const block = /```console\n([\s\S]*?)```/g
const uuid = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g
/** Sequences about a terminal's cursor, not its text. */
const cursorMove = new RegExp(`${String.fromCodePoint(27)}\\[[\\d;]*[A-Z]`, 'g')
const prompt = /^(.*(?:\[y\/N\]|Type \d+ to .*?:)) (\S+)$/m

function stepsIn(text: string): Step[] {
  return [...text.matchAll(block)].flatMap(([, body = '']) =>
    body
      .split(/^\$ /m)
      .slice(1)
      .map(step => {
        const [command = '', ...lines] = step.trimEnd().split('\n')
        return { command, shown: lines.join('\n') }
      }),
  )
}

/** Runs a command on a terminal of 110 columns, with the answer that the document shows; resolves to the screen's text. */
async function onTerminal({ command, shown }: Step): Promise<string> {
  const [, ...args] = command.split(' ')
  const terminal = openTerminal(
    args,
    { HOME: folder.path, NO_COLOR: '1' },
    { cwd: `${folder.path}/work`, columns: 110 },
  )
  const [, , answer] = prompt.exec(shown) ?? []
  if (answer) {
    await terminal.shows(/\[y\/N\]|Type \d+ to /)
    terminal.type(`${answer}\r`)
  }
  if (args.includes('--email')) {
    await terminal.shows('(not shown)')
    terminal.type(`${password}\r`)
  }
  const { code, screen } = await terminal.ended
  expect({ command, code, screen }).toMatchObject({ code: 0 })
  return screen
    .replaceAll('\r', '')
    .replace(cursorMove, '')
    .replaceAll(folder.path, '/home/pat')
    .replaceAll(new URL(server.url).host, '127.0.0.1:8787')
    .trimEnd()
}

/** What differs from run to run, as placeholders; widths of columns do not count. */
function stable(text: string): string {
  return text
    .replace(uuid, '<id>')
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z/g, '<time>')
    .replace(/\b(sk|st)-[\dA-Za-z]+/g, '<secret>')
    .replace(/^(HINT +)\S+$/m, '$1<hint>')
    .replace(/ +$/gm, '')
}

describe.skipIf(!hasTerminal).each(['README.md', 'src/commands/README.md'])('commands in %s', name => {
  const file = fileURLToPath(new URL(`../../${name}`, import.meta.url))
  const text = readFileSync(file, 'utf8')

  it('lists commands that work as printed, with their actual output', async () => {
    const steps = stepsIn(text)
    expect(steps.length).toBeGreaterThan(0)
    const ids = new Map<string, string>()
    let updated = text
    for (const step of steps) {
      const command = step.command.replace(uuid, id => ids.get(id) ?? id)
      const screen = await onTerminal({ ...step, command })
      const actual = screen.match(uuid) ?? []
      for (const [index, id] of (step.shown.match(uuid) ?? []).entries()) ids.set(id, actual[index] ?? id)
      if (isUpdate) updated = replaceStep(updated, step, screen, ids)
      else if (step.shown !== '') expect(stable(screen)).toBe(stable(step.shown))
    }
    if (isUpdate)
      writeFileSync(
        file,
        updated.replace(uuid, id => ids.get(id) ?? id),
      )
  })
})

it.skipIf(!hasTerminal || !hasJq)('the README script branches on the answer and on the exit code', async () => {
  const env = { HOME: folder.path, PATH: pathWithConsentctl(folder.path) }
  const script = readCommands('script').replace('http://127.0.0.1:8787', server.url).replace('sk-…', key)
  const create = (answer: boolean) =>
    runScript(folder.path, `consentctl create --subject maria@example.com --accepted --pref marketing=${answer}`, env)
  expect(await runScript(folder.path, script, env)).toMatchObject({ code: 0, stdout: 'do not send\n' })
  expect((await create(true)).code).toBe(0)
  expect(await runScript(folder.path, script, env)).toMatchObject({ code: 0, stdout: 'send\n' })
  expect(readFileSync(`${folder.path}/refused.txt`, 'utf8')).toBe('')
  expect((await runScript(folder.path, script.replace(key, 'sk-wrong'), env)).code).toBe(4)
})

it.skipIf(!hasTerminal)(
  'The newsletter script of the README keeps who consents, and stops when it cannot ask',
  async () => {
    const env = { HOME: folder.path, PATH: pathWithConsentctl(folder.path) }
    const script = readCommands('newsletter').replace('http://127.0.0.1:8787', server.url).replace('sk-…', key)
    const create = (subject: string, answer: boolean) =>
      runScript(folder.path, `consentctl create --subject ${subject} --accepted --pref marketing=${answer}`, env)
    await create('yes@example.com', true)
    await create('no@example.com', false)
    writeFileSync(`${folder.path}/list.csv`, 'n;email\n1;yes@example.com\n2;unknown@example.com\n3;no@example.com\n')
    expect(await runScript(folder.path, script, env)).toMatchObject({ code: 0, stdout: '' })
    expect(readFileSync(`${folder.path}/send.csv`, 'utf8')).toBe('n;email\n1;yes@example.com\n')
    const stopped = 'n;email\n2;unknown@example.com\n3;no@example.com\n'
    expect(readFileSync(`${folder.path}/stopped.csv`, 'utf8')).toBe(stopped)
    const unasked = await runScript(folder.path, script.replace(key, 'sk-wrong'), env)
    expect(unasked.code).toBe(1)
    expect(unasked.stderr).toContain('unauthorized')
    expect(existsSync(`${folder.path}/send.csv`)).toBe(false)
  },
)

function replaceStep(text: string, { command, shown }: Step, screen: string, ids: ReadonlyMap<string, string>): string {
  const before = `$ ${command}\n${shown === '' ? '' : `${shown}\n`}`
  const isKept = shown === '' && command.includes('--email')
  if (isKept) return text
  const known = new Map([...ids].map(([shownId, actual]) => [actual, shownId]))
  const after = screen.replace(uuid, id => known.get(id) ?? id)
  return text.replace(before, () => `$ ${command}\n${after}\n`)
}
