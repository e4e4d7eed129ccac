import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../context.ts'
import type { Endpoint } from '../contract/endpoint.ts'
import { pathOf } from '../contract/path.ts'
import type { View } from '../output/index.ts'
import { requireBaseUrl } from '../settings/settings.ts'
import { requestView } from '../views/program.ts'
import { many, type Output, pagesOf } from './output.ts'

export const dryRunOption = { dryRun: z.literal(true).optional() }

export function addDryRunFlag(
  command: Command,
  description = 'print the method, URL and body of each request instead of sending it',
): Command {
  return command.option('--dry-run', description)
}

export const dryRunOfFiles = 'send nothing: print each request, or check every line of a file'

interface Planned {
  readonly endpoint: Endpoint
  readonly params?: Readonly<Record<string, string>>
  readonly body?: object
}

export function viewUnlessDryRun<Row>(view: View<Row>): (options: { dryRun?: true | undefined }) => View<never> {
  return ({ dryRun }) => (dryRun ? requestView : view)
}

export function requestRow({ settings }: Context, { endpoint, params, body }: Planned) {
  return {
    method: endpoint.method,
    url: requireBaseUrl(settings) + pathOf(endpoint, params),
    body: body === undefined ? null : JSON.parse(JSON.stringify(body)), // drops undefined fields, which are not sent
  }
}

export function dryRunOutput(ctx: Context, planned: readonly Planned[]): Output<unknown> {
  const rows = planned.map(each => requestRow(ctx, each))
  return many(requestView, pagesOf(rows), { single: rows.length === 1 }) as Output<unknown>
}
