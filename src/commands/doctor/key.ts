import type { Probed } from '../../client/probed.ts'
import type { Context } from '../../context.ts'
import { exit } from '../../errors/exit.ts'
import { maskKey } from '../../settings/key.ts'
import { requireApiKey } from '../../settings/settings.ts'
import { type Checked, fail, ok, skip, tried, warn } from './check.ts'

/** Whether the key is accepted, and what is left of the quota; it takes one request of the quota to know. */
export async function checkKey(ctx: Context, limit: number): Promise<Checked[]> {
  let probed: Probed | undefined
  const key = await tried('key', async () => {
    const { value, source } = await requireApiKey(ctx.settings).read()
    probed = await ctx.api.probe('/api/v1/consents?limit=1', limit)
    return judged(probed, `${maskKey(value)} from ${source}`, source)
  })
  const answer = probed
  if (!answer) return [key, skip('quota', 'the key was not tried')]
  return [key, await tried('quota', () => checkQuota(answer))]
}

function judged({ status, text }: Probed, key: string, source: string): Checked {
  if (status === 200) return ok('key', `${key} is accepted (this took one request of the quota)`)
  if (isCode(text, 'forbidden'))
    return warn('key', `${key} is accepted, but may not read records`, 'consentctl keys list')
  if (status === 401 || status === 403)
    return fail('key', exit.auth, `${key} is not accepted (${status})`, remedyFor(source))
  if (isCode(text, 'quota_exceeded')) return ok('key', `${key} is accepted`)
  const code = status === 429 || status >= 500 ? exit.temporary : exit.usage
  return fail('key', code, `${key}: the instance answered ${status}`, 'check the address of the instance')
}

/** A variable goes before what is stored, so that to store another key would change nothing. */
function remedyFor(source: string): string {
  return source.startsWith('CONSENTCTL_')
    ? `set ${source} to a valid key, or unset it`
    : 'consentctl auth login'
}

/** Under this share of the quota it is time to do something. */
const little = 0.1

function checkQuota({ headers, text }: Probed): Checked {
  const number = (name: string) => Number.parseInt(String(headers[name] ?? ''), 10)
  const [most, left, reset] = [number('x-quota-limit'), number('x-quota-remaining'), number('x-quota-reset')]
  const end = reset > 0 && reset < 1e11 ? `, until ${new Date(reset * 1000).toISOString().slice(0, 10)}` : ''
  const remedy = 'wait for the next calendar month (UTC), or raise the account’s quota'
  if (isCode(text, 'quota_exceeded') || left === 0)
    return fail('quota', exit.quota, `nothing is left of this month’s quota${end}`, remedy)
  if (Number.isNaN(left)) return skip('quota', 'the instance does not tell it: there may be none')
  const detail = `${left} of ${Number.isNaN(most) ? 'an unknown number of' : most} requests are left${end}`
  return left < most * little ? warn('quota', detail, remedy) : ok('quota', detail)
}

function isCode(text: string, code: string): boolean {
  try {
    return (JSON.parse(text) as { error?: unknown }).error === code
  } catch {
    return false
  }
}
