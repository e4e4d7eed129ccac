import { ApiError, ContractError, NetworkError } from '../../../../src/client/errors.ts'
import { visible } from '../../../../src/output/safe.ts'

/** An error, what it means for what the user did, and what to do. Nothing if there is none. */
export function Problem({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  if (error === undefined || error === null) return null
  const { title, advice, requestId } = explain(error)
  return (
    <div class="problem" role="alert">
      <strong>{title}</strong>
      {advice && <span> {advice}</span>}
      {requestId && <small class="hint">Request {visible(requestId)}</small>}
      {retry && (
        <p class="buttons">
          <button type="button" onClick={retry}>
            Try again
          </button>
        </p>
      )}
    </div>
  )
}

/** An input that the user can mend. Its message is shown as it is. */
export class Mistake extends Error {
  override readonly name = 'Mistake'
}

interface Explanation {
  readonly title: string
  readonly advice: string
  readonly requestId?: string | null
}

export function explain(error: unknown): Explanation {
  if (error instanceof NetworkError) return explainSilence(error)
  if (error instanceof ContractError)
    return {
      title: 'The answer is not one of this service.',
      advice: 'A proxy may have answered.',
      requestId: error.requestId,
    }
  if (error instanceof Mistake) return { title: visible(error.message), advice: '' }
  if (!(error instanceof ApiError)) return { title: 'The page failed.', advice: String(error) }
  const { message, requestId } = error
  const title = visible(message)
  const advice = adviceFor(error)
  return { title, advice, requestId: error.status >= 500 ? requestId : null }
}

function explainSilence({ code, call }: NetworkError): Explanation {
  const title = code === 'TIMEOUT' ? 'The service did not answer in time.' : 'The service cannot be reached.'
  const changed =
    call.idempotent && call.method === 'GET'
      ? ''
      : 'The change may or may not have been made: look before you repeat it. '
  return { title, advice: `${changed}Nothing that you typed is lost.` }
}

function adviceFor({ status, code, retryAfter }: ApiError): string {
  const wait = retryAfter === null ? 'Try again in a moment.' : `Try again in ${retryAfter} s.`
  if (code === 'quota_exceeded') return 'The monthly quota of the account is used up: an operator can raise it.'
  if (code === 'unauthorized') return 'Sign in again; nothing was changed.'
  if (code === 'forbidden') return 'Nothing was changed.'
  if (status === 429) return wait
  if (status === 503) return `Nothing was changed. ${wait}`
  if (status >= 500) return 'It is not known if anything was changed: look before you repeat it.'
  return ''
}
