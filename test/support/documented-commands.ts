import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { commandLine, quote } from './cli.ts'

const documents = ['README.md', 'src/commands/README.md', 'server/README.md', 'server/operations.md'].map(name =>
  readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'),
)

/** The commands between two marks of the README or the manual. */
export function readCommands(mark: string): string {
  const [, commands] =
    new RegExp(`<!-- ${mark} -->\n\`\`\`sh\n([^\`]*)\`\`\`\n<!-- /${mark} -->`).exec(documents.join('')) ?? []
  if (commands === undefined) throw new Error(`no document has commands between the marks ${mark}`)
  return commands
}

/** Makes the built `consentctl` a command in a folder; returns a PATH that begins with it. */
export function pathWithConsentctl(folder: string): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  const words = commandLine([]).map(quote)
  writeFileSync(join(bin, 'consentctl'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`, { mode: 0o755 })
  return [bin, process.env['PATH']].join(delimiter)
}

/** Runs a script while the service of this process goes on to answer. */
export function runScript(
  cwd: string,
  script: string,
  env: Record<string, string | undefined> = process.env,
): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise(resolve => {
    execFile('sh', ['-c', script], { cwd, env }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
  })
}

export interface ByteChange {
  readonly at: number
  readonly byte: number
}

/** Bytes that mean something to a shell, to sed, to JSON or to base64, and a bit turned. */
const bytesFor = (byte: number) => [byte ^ 1, 0x0a, 0x0d, 0x20, 0x00, 0x22, 0x41, 0xff].filter(one => one !== byte)

/** Every byte, as two others. */
export function everyByteChange(text: Buffer): ByteChange[] {
  return [...text].flatMap((byte, at) => {
    const others = bytesFor(byte)
    return [others[at % 7], others[(at + 3) % 7]].map(other => ({ at, byte: other ?? 0 }))
  })
}

/** Some places with a value each, most of them in and around the last line. */
export function someByteChanges(text: Buffer): ByteChange[] {
  const all = [...text].map((byte, at) => ({ at, byte: bytesFor(byte)[at % 7] ?? 0 }))
  const [edge, line] = [text.length - 24, text.length - 112]
  return all.filter(({ at }) => at > edge || (at > line && at % 3 === 0) || at % 48 === 0)
}
