import {
  ApiError,
  ContractError,
  EndlessListError,
  NetworkError,
  UnorderedListError,
} from '../client/errors.ts'
import { isOperatorError, type Obstacle } from '../contract/server.ts'
import { CliError, Resumable, usageError } from './errors.ts'
import { type Exit, exit } from './exit.ts'
import { explainApi, explainContract, explainNetwork } from './explain-call.ts'

/** What is told of an error (report.ts tells it). */
export interface Explanation {
  readonly code: string
  readonly message: string
  readonly why?: string | undefined
  readonly hint?: string | undefined
  readonly exit: Exit
  readonly status?: number | undefined
  readonly requestId?: string | null | undefined
}

const exitOfObstacle: Record<Obstacle, Exit> = {
  settings: exit.usage,
  unavailable: exit.temporary,
  invalid: exit.rejected,
  conflict: exit.rejected,
  not_found: exit.notFound,
}

/** Anything thrown, as what is told of it. */
export function explain(error: unknown): Explanation {
  if (error instanceof Resumable) return { ...explain(error.cause), hint: error.command }
  if (error instanceof CliError) {
    return { code: error.code, message: error.message, hint: error.hint, exit: error.exit }
  }
  if (isOperatorError(error)) {
    const { obstacle, message, hint } = error
    return { code: obstacle, message, hint, exit: exitOfObstacle[obstacle] }
  }
  if (error instanceof ApiError) return explainApi(error)
  if (error instanceof NetworkError) return explainNetwork(error)
  if (error instanceof ContractError) return explainContract(error)
  if (error instanceof EndlessListError)
    return {
      code: 'endless_list',
      message: error.message,
      hint: 'tell who runs the instance',
      exit: exit.rejected,
    }
  if (error instanceof UnorderedListError)
    return {
      code: 'unordered_list',
      message: error.message,
      hint: 'the whole list again, with --concurrency 1',
      exit: exit.rejected,
    }
  return { code: 'bug', message: error instanceof Error ? error.message : String(error), exit: exit.failure }
}

/** What helps with complaints for which commander has no suggestion. */
const hints: readonly (readonly [complaint: RegExp, hint: string])[] = [
  [/^unknown command 'help'/, 'consentctl --help, or --help behind any command'],
  [/^too many arguments/, 'names of fields follow an equals sign, as in --json=id; ids come as they are'],
]

/** commander's complaint about argv, with its suggestion, as a usage error. */
export function fromCommander(error: { readonly message: string }): CliError {
  const [message = '', hint] = error.message.replace(/^error: /, '').split('\n')
  const own = hints.find(([complaint]) => complaint.test(message))?.[1]
  return usageError(message, own ?? hint?.replace(/^\((.*)\)$/, '$1'))
}

export function exitOf(error: unknown): Exit {
  return explain(error).exit
}
