// Node's own HTTP on simulated sockets.
import * as http from 'node:http'
import { StreamSocket } from '../network.ts'

export * from 'node:http'

export class Agent extends http.Agent {
  override createConnection(options: { host?: string | null }): never {
    return new StreamSocket().connect(0, options.host ?? '') as never
  }
}
