import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'

const requestTimeoutMs = 700
const service = useService({ requestTimeoutMs })

/** Sends the start of a request, then a byte now and then. Resolves to the response, and when the connection was closed. */
function sendSlowly(start: string, next: string): Promise<{ text: string; ms: number }> {
  return new Promise(resolve => {
    const startMs = performance.now()
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(service.url).port) })
    let text = ''
    socket.write(start)
    const timer = setInterval(() => socket.write(next), 100)
    socket.on('data', data => {
      text += String(data)
    })
    socket.on('error', () => {}) // a reset after the response is as good as an end
    socket.on('close', () => {
      clearInterval(timer)
      resolve({ text, ms: performance.now() - startMs })
    })
  })
}

const head = 'POST /api/v1/consents HTTP/1.1\r\nHost: localhost\r\n'

describe('a request that does not arrive in time', () => {
  it.each([
    ['headers', 'X-Slow: ', 'a'],
    ['body', 'Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n', ' '],
  ])('gets 408 and is disconnected within 2 s of the timeout: %s', async (_part, start, next) => {
    const { key } = await service.newAccount()
    const { text, ms } = await sendSlowly(`${head}Authorization: Bearer ${key}\r\n${start}`, next)
    expect(text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n.*The request did not arrive in time/s)
    expect(ms).toBeGreaterThan(requestTimeoutMs - 50)
    expect(ms).toBeLessThan(requestTimeoutMs + 2000)
  })
})
