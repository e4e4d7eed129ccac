import { api } from '../../../../src/contract/api.ts'
import { useCall } from '../call.ts'
import { options } from '../parts/command.tsx'
import { Screen, Show } from '../parts/screen.tsx'
import { Details } from '../parts/table.tsx'
import { formatNumber, Time } from '../parts/text.tsx'
import { client, useEmail } from '../session.ts'

export function Usage() {
  const usage = useCall(() => client.call(api.usage.get, {}), [])
  return (
    <Screen title="Usage" command={['usage', ...options({ email: useEmail() })]}>
      <Show of={usage}>
        {({ month, used, limit, remaining, resets_at }) => (
          <>
            {limit !== null && (
              <progress
                aria-label="Used of the monthly quota"
                max={Math.max(limit, 1)}
                value={limit === 0 ? 1 : used}
              />
            )}
            {remaining === 0 && (
              <p role="status">
                This month’s quota is used up, until {resets_at.slice(0, 10)} (UTC). Requests by API keys are rejected;
                this page works as before.
              </p>
            )}
            <Details
              of={{
                'Month (UTC)': month,
                'Requests by API keys': formatNumber(used),
                Limit: limit === null ? 'none' : formatNumber(limit),
                Left: remaining === null ? 'unlimited' : formatNumber(remaining),
                'Resets at': <Time at={resets_at} />,
              }}
            />
            <p class="hint">Requests by this page do not count.</p>
          </>
        )}
      </Show>
    </Screen>
  )
}
