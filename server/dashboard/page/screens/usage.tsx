import { api } from '../../../../src/contract/api.ts'
import { useCall } from '../call.ts'
import { Screen, Show } from '../parts/screen.tsx'
import { Details } from '../parts/table.tsx'
import { formatNumber, Time } from '../parts/text.tsx'
import { client } from '../session.ts'

/** Units of the monthly quota. A session takes none. */
export function Usage() {
  const usage = useCall(() => client.call(api.usage.get, {}), [])
  return (
    <Screen title="Usage" command={['usage']}>
      <Show of={usage}>
        {({ month, used, limit, remaining, resets_at }) => (
          <>
            {limit !== null && <progress aria-label="Used of the monthly quota" max={limit} value={used} />}
            <Details
              rows={[
                ['Month (UTC)', month],
                ['Requests by API keys', formatNumber(used)],
                ['Limit', limit === null ? 'none' : formatNumber(limit)],
                ['Left', remaining === null ? 'unlimited' : formatNumber(remaining)],
                ['Counted anew from', <Time at={resets_at} key="" />],
              ]}
            />
            <p class="hint">What you do on this page takes nothing of the quota.</p>
          </>
        )}
      </Show>
    </Screen>
  )
}
