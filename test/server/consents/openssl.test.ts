import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { isLong } from '../../e2e/rig.ts'
import { useFolder } from '../../support/cli.ts'
import { useService } from '../../support/service.ts'
import { newOwner } from './records.ts'

const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')

/** The commands of the README between two marks. */
function commandsOf(mark: string): string {
  const [, commands] =
    new RegExp(`<!-- ${mark} -->\n\`\`\`sh\n([^\`]*)\`\`\`\n<!-- /${mark} -->`).exec(readme) ?? []
  if (commands === undefined) throw new Error(`the README has no commands between the marks ${mark}`)
  return commands
}

const hasTools = ['openssl', 'curl'].every(name => spawnSync(name, ['version']).error === undefined)

describe.skipIf(!hasTools)('the commands of the README', () => {
  const service = useService()
  const folder = useFolder()
  let receipt: Buffer
  beforeAll(async () => {
    const owner = await newOwner(service)
    const { id } = await owner.create({ subject_id: 'maría@example.com', accepted: true })
    await owner.update(id, { accepted: false })
    receipt = Buffer.from((await owner.receipt(id)).text)
    const fetch = commandsOf('keys').replaceAll('http://127.0.0.1:8787', service.url)
    expect(await sh(folder.path, fetch)).toMatchObject({ code: 0, stderr: '' })
  })

  it('verify a receipt', async () => {
    writeFileSync(join(folder.path, 'receipt.json'), receipt)
    expect(await sh(folder.path, commandsOf('openssl'))).toEqual({
      code: 0,
      stdout: 'Signature Verified Successfully\n',
      stderr: '',
    })
  })

  it('fail with any one byte of it changed', { timeout: 600_000 }, async () => {
    const script = `set +e
for folder in */; do
  cd "$folder" && cp ../consent-keys.json .
  ( ${commandsOf('openssl')} ) > /dev/null 2>&1 && echo "$folder"
  cd ..
done`
    const put = (name: string, text: Buffer) => {
      mkdirSync(join(folder.path, name))
      writeFileSync(join(folder.path, name, 'receipt.json'), text)
    }
    const changes = isLong ? everyChange(receipt) : sample(receipt)
    for (const { at, byte } of changes) {
      const changed = Buffer.from(receipt)
      changed[at] = byte
      put(`${at}-${byte}`, changed)
    }
    put('unchanged', receipt)
    expect(changes.length).toBeGreaterThan(80)
    expect(await sh(folder.path, script)).toMatchObject({ stdout: 'unchanged/\n' })
  })
})

interface Change {
  readonly at: number
  readonly byte: number
}

/** Bytes that mean something to a shell, to sed, to JSON or to base64, and a bit turned. */
const bytesFor = (byte: number) =>
  [byte ^ 1, 0x0a, 0x0d, 0x20, 0x00, 0x22, 0x41, 0xff].filter(one => one !== byte)

/** Every byte, as two others. */
function everyChange(text: Buffer): Change[] {
  return [...text].flatMap((byte, at) => {
    const others = bytesFor(byte)
    return [others[at % 7], others[(at + 3) % 7]].map(other => ({ at, byte: other ?? 0 }))
  })
}

/** Some places with a value each, most of them in and around the last line. */
function sample(text: Buffer): Change[] {
  const all = [...text].map((byte, at) => ({ at, byte: bytesFor(byte)[at % 7] ?? 0 }))
  const [edge, line] = [text.length - 24, text.length - 112]
  return all.filter(({ at }) => at > edge || (at > line && at % 3 === 0) || at % 48 === 0)
}

/** Runs a script while the service of this process goes on to answer. */
function sh(cwd: string, script: string): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise(resolve => {
    execFile('sh', ['-c', script], { cwd }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
  })
}
