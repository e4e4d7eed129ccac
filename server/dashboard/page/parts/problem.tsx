import { ApiError, type Call, ContractError, NetworkError } from '../../../../src/client/errors.ts'
import { CliError } from '../../../../src/errors/errors.ts'
import { visible } from '../../../../src/output/safe.ts'
import { Button } from './button.tsx'

interface ProblemProps {
  readonly error: unknown
  readonly retry?: () => void
  /** True if the surrounding text states what may have changed, as for actions of several calls. */
  readonly hasOwnWords?: boolean
}

export function Problem({ error, retry, hasOwnWords = false }: ProblemProps) {
  if (error === undefined || error === null) return null
  const { title, changed = '', advice, requestId } = explain(error)
  return (
    <div class="problem" role="alert">
      <strong>{title}</strong>
      <span>
        {' '}
        {!hasOwnWords && changed}
        {advice}
      </span>
      {requestId && <small>Request {visible(requestId)}</small>}
      {retry && (
        <p class="buttons">
          <Button text="Try again" onClick={retry} />
        </p>
      )}
    </div>
  )
}

/** An error that the user can correct; the page shows only its message. */
export class Mistake extends Error {
  override readonly name = 'Mistake'
}

interface Explanation {
  readonly title: string
  /** States whether the call changed anything; hidden by `hasOwnWords`. */
  readonly changed?: string
  readonly advice: string
  readonly requestId?: string | null
}

function explain(error: unknown): Explanation {
  if (error instanceof NetworkError)
    return {
      title: error.code === 'TIMEOUT' ? 'The service did not answer in time.' : 'The service cannot be reached.',
      changed: isChange(error.call) ? lost : '',
      advice: 'Nothing that you typed is lost.',
    }
  if (error instanceof ContractError)
    return {
      title: 'The response is not from this service.',
      changed: isChange(error.call) && error.maybeDone ? lost : '',
      advice: 'A proxy may have answered.',
      requestId: error.requestId,
    }
  if (error instanceof CliError) return { title: visible(error.message), advice: visible(error.hint ?? '') }
  if (error instanceof Mistake) return { title: visible(error.message), advice: '' }
  if (!(error instanceof ApiError)) return { title: 'The page failed.', advice: visible(String(error)) }
  const { message, requestId, status } = error
  return {
    title: visible(isRejection(error) ? inWords(error) : message),
    ...adviceFor(error),
    requestId: status >= 500 ? requestId : null,
  }
}

function isRejection(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 400
}

/** Splits `allowed_origins.0: must be …; retention.period: must be …` into the API's field names and texts. */
function rejectionsIn({ message }: ApiError): readonly { readonly name?: string | undefined; readonly text: string }[] {
  return message.split('; ').map(part => {
    const [, name, text = part] = /^(\w+)(?:\.[^\s:]*)?: (.*)$/s.exec(part) ?? []
    return { name, text: text.replace(/(?<= after )\w+$/, labelOf) }
  })
}

export function rejectionOf(error: unknown, field: string | undefined): string | undefined {
  return isRejection(error) && field ? rejectionsIn(error).find(({ name }) => name === field)?.text : undefined
}

function inWords(error: ApiError): string {
  const parts = rejectionsIn(error).map(({ name, text }) => (name ? `${labelOf(name)}: ${text}` : text))
  return [...new Set(parts)].join('; ')
}

function labelOf(name: string): string {
  const [field] = document.getElementsByName(name) as NodeListOf<HTMLInputElement>
  return field?.labels?.[0]?.textContent ?? name.replaceAll('_', ' ')
}

const lost = 'The change may or may not have been made: check before you repeat it. '

/** Returns false for a sign-in or sign-out, which are safe to repeat. */
function isChange({ isRead, path }: Call): boolean {
  return !isRead && path !== '/api/v1/session'
}

function adviceFor({ call, status, code, retryAfter, maybeDone }: ApiError): Pick<Explanation, 'changed' | 'advice'> {
  const isLost = maybeDone && code !== 'read_only' // answered before anything is done
  const changed = isChange(call) ? (isLost ? lost : 'Nothing was changed. ') : ''
  if (code === 'quota_exceeded') return { changed, advice: 'An operator can raise the quota.' }
  if (status === 429 || status === 503) return { changed, advice: `Try again ${formatWait(retryAfter)}.` }
  const isSaid = status >= 500 || code === 'unauthorized' || code === 'forbidden'
  return { changed: isSaid ? changed : '', advice: '' }
}

function formatWait(retryAfter: number | null): string {
  if (retryAfter === null) return 'in a moment'
  return retryAfter < 120 ? `in ${retryAfter} s` : `in ${Math.ceil(retryAfter / 60)} minutes`
}
