import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { type Host, listenForInterruption } from '../../../src/io/io.ts'

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 143],
] as const)('%s lets running work finish, and the next signal ends the process', (signal, exit) => {
  const host = new EventEmitter()
  const interruption = listenForInterruption(host as unknown as Host)
  host.emit(signal)
  expect(interruption.aborted).toBe(true)
  expect(interruption.reason).toMatchObject({ code: 'interrupted', exit })
  expect(host.eventNames()).toEqual([])
})
