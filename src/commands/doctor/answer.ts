import type { Probed } from '../../client/probed.ts'
import { exit } from '../../errors/exit.ts'
import { type Checked, fail, ok, skip, warn } from './check.ts'

/** What an answer of `/ready` says, which came after so many milliseconds. */
export function checkAnswer(probed: Probed, took: number, version: string | null): Checked[] {
  return [checkService(probed, version), checkClock(probed.headers['date'], took)]
}

function checkService({ status, text }: Probed, version: string | null): Checked {
  const named = version ? `, version ${version}` : ''
  if (status === 200 && /"status"\s*:\s*"ok"/.test(text)) return ok('service', `it is ready${named}`)
  if (status >= 500)
    return fail('service', exit.temporary, `it is not ready (${status})${named}`, 'ask who runs it, or wait')
  return skip('service', `it does not tell whether it is ready (${status})${named}`)
}

/** Seconds of difference to warn of, and to fail at: TLS and signatures depend on the time. */
const [noticeable, wrong] = [30, 300]

/** This clock against that of the instance, whose `Date` has whole seconds (RFC 9110 section 6.6.1). */
function checkClock(date: string | string[] | undefined, took: number): Checked {
  const then = Date.parse(String(date ?? ''))
  if (Number.isNaN(then)) return skip('clock', 'the instance does not tell its time')
  const offset = Math.round((Date.now() - took / 2 - then) / 1000)
  const size = Math.abs(offset)
  const detail =
    size <= 1 ? 'agrees with the instance' : `${size} s ${offset > 0 ? 'ahead of' : 'behind'} the instance`
  const remedy = 'set this machine’s clock, and keep it by NTP'
  if (size > wrong) return fail('clock', exit.usage, detail, remedy)
  return size > noticeable ? warn('clock', detail, remedy) : ok('clock', detail)
}
