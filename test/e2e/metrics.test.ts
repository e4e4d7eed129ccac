import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runBinary, useFolder } from '../support/cli.ts'
import { freePort } from '../support/postgres.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { databaseFor } from './campaign.ts'

const folder = useFolder()

/** Starts a server that leaves a list of the CommonJS files it has loaded. */
async function start(name: string, more: Record<string, string> = {}) {
  const [witness, list] = [join(folder.path, 'witness.cjs'), join(folder.path, `${name}.json`)]
  const write = `require('fs').writeFileSync(${JSON.stringify(list)}, JSON.stringify(Object.keys(require.cache)))`
  writeFileSync(witness, `process.on('exit', () => ${write})`)
  const database = await databaseFor(`metrics_${name}`, folder.path)
  const env = { HOME: folder.path, NODE_OPTIONS: `--require=${witness}`, ...database, ...more }
  const server = await startServer(['--port', '0'], env)
  return { server, loaded: () => readFileSync(list, 'utf8') }
}

describe('metrics › without METRICS_PORT', () => {
  it('does not serve metrics or load their module', async () => {
    const { server, loaded } = await start('none')
    expect((await request(`${server.url}/metrics`)).statusCode).toBe(401)
    expect(await server.end('SIGTERM')).toBe(0)
    expect(loaded()).toContain('node_modules/fastify/')
    expect(loaded()).not.toContain('prom-client')
  })
})

describe('metrics › with METRICS_PORT', () => {
  let port: number
  let server: ServerProcess
  let loaded: () => string

  beforeAll(async () => {
    port = await freePort()
    const started = await start('some', { METRICS_PORT: String(port) })
    server = started.server
    loaded = started.loaded
  })
  afterAll(() => server.end('SIGKILL'))

  it('serves metrics, but not on the API port', async () => {
    await request(`${server.url}/live`)
    const answer = await request(`http://127.0.0.1:${port}/metrics`)
    expect(await answer.body.text()).toContain('http_requests_total{method="GET",route="/live",status="200"} 1\n')
    expect((await request(`${server.url}/metrics`)).statusCode).toBe(401)
    expect(server.output()).toContain(`"metrics":"http://127.0.0.1:${port}/metrics"`)
  })

  it('when the port is taken, a second server does not start and says why', async () => {
    const database = await databaseFor('metrics_other', folder.path)
    const { code, stderr } = await runBinary(['serve', '--port', '0'], {
      env: { HOME: folder.path, METRICS_PORT: String(port), LOG_LEVEL: 'silent', ...database },
    })
    expect(code).toBe(2)
    expect(stderr).toContain(`error: port ${port} of 127.0.0.1 is in use\n`)
    expect(stderr).toContain('METRICS_PORT')
  })

  it('when the server stops, metrics stop too without delaying it', async () => {
    const answer = await request(`http://127.0.0.1:${port}/metrics`) // leaves a connection that is kept alive
    await answer.body.dump()
    const begin = Date.now()
    expect(await server.end('SIGTERM')).toBe(0)
    expect(Date.now() - begin).toBeLessThan(5000)
    expect(loaded()).toContain('prom-client')
    await expect(request(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow('ECONNREFUSED')
  })
})
