import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { useService } from '../../support/service.ts'

const service = useService()

async function askForTunnel(): Promise<Socket> {
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n')
  return socket
}

it('CONNECT › survives clients that disconnect before the response', async () => {
  for (let time = 0; time < 20; time += 1) (await askForTunnel()).resetAndDestroy()
  await delay(100)
  expect((await service.call('GET', '/live')).status).toBe(200)
})

it('CONNECT › closes the connection of a client that does not', async () => {
  const socket = await askForTunnel()
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toContain('400 Bad Request')
  await Promise.race([once(socket, 'close'), delay(5000).then(() => Promise.reject(new Error('still open')))])
})
