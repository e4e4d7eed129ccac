import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { freePort } from '../../support/postgres.ts'
import { hasVerifier, python } from '../../support/verifier.ts'
import { newHookOwner, useWebhooks } from './receiver.ts'

const { service, deliver } = useWebhooks()
const page = readFileSync(new URL('../../../server/webhooks/README.md', import.meta.url), 'utf8')
const [, script = ''] = /<!-- receiver -->\n```python\n([\s\S]*?)```\n/.exec(page) ?? []

it.skipIf(!hasVerifier)(
  'the receiver in Python of the page accepts deliveries, and nothing that another secret signed',
  async () => {
    const own = await newHookOwner(service)
    const port = await freePort()
    const draft = { types: ['created'] }
    const [{ id, secret }, other] = [
      await own.createHook(`http://127.0.0.1:${port}/`, draft),
      await own.createHook(`http://127.0.0.1:${port}/`, draft),
    ]
    const env = { ...process.env, WEBHOOK_SECRET: secret ?? '', PORT: String(port) }
    const receiver = spawn(python, ['-c', script], { env, stdio: ['ignore', 'pipe', 'ignore'] })
    try {
      let printed = ''
      receiver.stdout.setEncoding('utf8').on('data', text => {
        printed += text
      })
      const isUp = () =>
        fetch(`http://127.0.0.1:${port}/`).then(
          () => true,
          () => false,
        )
      for (const until = performance.now() + 20_000; performance.now() < until && !(await isUp()); ) await delay(50)
      await own.create({ accepted: true })
      await deliver()
      expect((await own.show(id)).attempts).toEqual([expect.objectContaining({ status: 204 })])
      expect((await own.show(other.id)).attempts).toEqual([expect.objectContaining({ status: 401 })])
      await expect.poll(() => printed).toMatch(new RegExp(`^${id}_[\\da-f]{32} created\\n$`))
    } finally {
      receiver.kill()
      await once(receiver, 'exit')
    }
  },
)
