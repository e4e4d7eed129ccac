import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { HttpResponse, http } from 'msw'
import { expect, it } from 'vitest'
import { commandLine } from '../support/cli.ts'
import { useInstance } from '../support/instance.ts'

const instance = useInstance()

it('create --file › when it is interrupted, finishes the requests in flight and prints every record that was created', async () => {
  let made = 0
  instance.use(
    http.get('*/api/v1/openapi.json', () => new HttpResponse(null, { status: 404 })),
    http.post('*/api/v1/consents', async () => {
      await delay(30)
      made += 1
      return HttpResponse.json({ id: `made-${made}`, accepted: false, created_at: 'now' }, { status: 201 })
    }),
  )
  const env = {
    PATH: process.env['PATH'],
    HOME: '/nowhere',
    CONSENTCTL_BASE_URL: instance.url,
    CONSENTCTL_API_KEY: 'sk-x',
  }
  const [program, ...args] = commandLine([
    'create',
    '--file',
    '-',
    '--site',
    '01939d2c-7b1a-7c3e-9a51-000000000abc',
    '-q',
  ])
  const child = spawn(program, args, { env })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', chunk => {
    stdout += String(chunk)
  })
  child.stderr.on('data', chunk => {
    stderr += String(chunk)
  })
  child.stdin.on('error', () => {})
  child.stdin.write('{}\n'.repeat(2000)) // and no end: the command waits for more
  while (made < 40) await delay(5)
  child.kill('SIGINT')
  const [code] = await once(child, 'close')
  expect(code).toBe(130)
  expect(stdout.trimEnd().split('\n').sort()).toEqual(Array.from({ length: made }, (_, n) => `made-${n + 1}`).sort())
  expect(stderr).toMatch(/^interrupted: finishing what is in flight; this cannot be resumed$/m)
})
