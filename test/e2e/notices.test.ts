import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runBinary } from '../support/cli.ts'
import { hasTerminal, openTerminal } from '../support/terminal.ts'
import { useServed } from './served.ts'

const site = 'Shop'
const served = useServed('notices', { account: ['--site', site] })

it('notices › are published from a repository with a publish-only key, once per change', async () => {
  const { account, folder, url } = served
  const env = { HOME: folder.path, CONSENTCTL_BASE_URL: url, CONSENTCTL_EMAIL: account.user.email }
  const german = join(folder.path, 'policy.de.md')
  const english = join(folder.path, 'policy.en.html')
  writeFileSync(german, 'Wir schreiben Ihnen.\r\nUnd zwar oft.\n')
  writeFileSync(english, '<p>We write to you.\u001b[2J\u202e</p>\n')
  const create = ['keys', 'create', '--name', 'ci', '--scope', 'notices', '--password-stdin', '--json']
  const { key } = JSON.parse((await runBinary(create, { env, stdin: `${account.user.password}\n` })).stdout)
  const withKey = { ...env, CONSENTCTL_API_KEY: key }
  const ci = (...args: string[]) => runBinary(['notices', ...args, '--site', site], { env: withKey })
  const files = ['--file', german, '--file', english]
  const details = ['--purpose', 'marketing@de=Werbung', '--purpose', 'marketing@en=News', '--valid-for', 'P1Y']
  const publish = (...more: string[]) => ci('publish', ...files, ...details, '--json', ...more)

  expect(await publish()).toMatchObject({ code: 2, stdout: '' }) // cannot ask
  const planned = await publish('--dry-run')
  expect(JSON.parse(planned.stdout).map(({ method }: { method: string }) => method)).toEqual([
    'PUT',
    'PUT',
    'PUT',
    'POST',
  ])
  const draft = await publish('--draft')
  expect(JSON.parse(draft.stdout)).toMatchObject({ policy_version: 1, state: 'draft' })
  const published = await publish('--yes')
  expect(published).toMatchObject({ code: 0 })
  expect(published.stderr).not.toContain('uploaded') // the draft has them
  const notice = JSON.parse(published.stdout)
  expect(notice).toMatchObject({ policy_version: 1, state: 'published', leaf_index: expect.any(Number) })
  const again = await publish('--yes')
  expect([again.code, JSON.parse(again.stdout), again.stderr]).toEqual([
    0,
    notice,
    expect.stringContaining('nothing to publish'),
  ])

  writeFileSync(german, 'Wir schreiben Ihnen.\r\nUnd zwar selten.\n')
  const changed = await publish('--yes')
  expect(changed.stderr).toMatch(/version 2 of .*compared with version 1:\n {2}~ text de: text\/markdown, 39 bytes/)
  expect(JSON.parse(changed.stdout)).toMatchObject({ policy_version: 2, state: 'published' })
  const [own] = JSON.parse((await runBinary(['sites', 'list', '--json'], { env: withKey })).stdout)
  expect(own.policy_version).toBe(2)
  expect(await publish('--policy-version', '1', '--yes')).toMatchObject({ code: 5, stdout: '' })
  expect((await ci('diff', '1', '2')).stdout).toContain('-Und zwar oft.\n+Und zwar selten.\n')
  expect((await ci('list', '-q')).stdout).toBe('2\n1\n')
  expect((await ci('show', '1', '--lang', 'de')).stdout).toBe('Wir schreiben Ihnen.\r\nUnd zwar oft.\n')
  expect((await runBinary(['list'], { env: withKey })).code).toBe(4)
  if (!hasTerminal) return
  const shown = openTerminal(['notices', 'show', '2', '--lang', 'en', '--site', site], {
    ...env,
    CONSENTCTL_API_KEY: key,
  })
  expect((await shown.ended).screen).toContain('<p>We write to you.\\u{1b}[2J\\u{202e}</p>')
  writeFileSync(english, '<p>We write.</p>')
  const asked = openTerminal(['notices', 'publish', ...files, '--site', site], withKey)
  await asked.shows('Publish this notice on')
  asked.type('n\r')
  expect(await asked.ended).toMatchObject({
    code: 9,
    screen: expect.stringContaining('- purpose marketing (de): Werbung'),
  })
})
