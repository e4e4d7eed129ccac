import type { ComponentChildren } from 'preact'
import { api } from '../../../../src/contract/api.ts'
import type { Route } from '../../../../src/contract/endpoint.ts'
import type { ApiKey } from '../../../../src/contract/keys.ts'
import type { Stats } from '../../../../src/contract/stats.ts'
import { useCall } from '../call.ts'
import { Screen, Show } from '../parts/screen.tsx'
import { type Columns, Details, Table } from '../parts/table.tsx'
import { dayIn, formatNumber, formatRate, Link, Text, Time } from '../parts/text.tsx'
import { client, useMay } from '../session.ts'
import { openColumns, readOpen } from './requests.tsx'
import { factsOf } from './webhook.tsx'

/** Requests that are due within so many days are shown. */
const soonDays = 10

/** A request that was received later is not due within `soonDays`: it has a month at least. */
const leastDays = 28

const keyDays = 30

/** What has to be done today. Each part is one request to the service. */
export function Start() {
  return (
    <Screen title="Start">
      <Part reads={api.requests.list} of={DueRequests} />
      <Part reads={api.stats.get} of={Week} />
      <Part reads={api.keys.list} of={EndingKeys} />
      <Part reads={api.webhooks.list} of={FailingWebhooks} />
    </Screen>
  )
}

interface PartProps {
  readonly reads: Pick<Route, 'roles'>
  readonly of: () => ComponentChildren
}

/** Nothing for a user who may not read it. */
function Part({ reads, of: Content }: PartProps) {
  return useMay(reads) ? (
    <section>
      <Content />
    </section>
  ) : null
}

function DueRequests() {
  const until = dayIn(soonDays)
  const due = useCall(() => readOpen({ received_to: dayIn(soonDays - leastDays) }), [])
  return (
    <>
      <h2>Requests that are due</h2>
      <Show of={due}>
        {rows => (
          <Table
            label="Requests that are due, overdue first"
            columns={openColumns}
            rows={rows.filter(({ due_on }) => due_on <= until)}
            empty={`No request is due until ${until}.`}
          />
        )}
      </Show>
      <p>
        <Link to={['requests']}>All requests</Link>
      </p>
    </>
  )
}

function Week() {
  const from = dayIn(-6)
  const stats = useCall(() => client.call(api.stats.get, { query: { from, exact: true } }), [])
  return (
    <>
      <h2>Answers of the last seven days</h2>
      <Show of={stats}>{({ total }) => <Details class="figures" of={weekOf(total)} />}</Show>
      <p>
        <Link to={['statistics']}>Statistics</Link>
      </p>
    </>
  )
}

function weekOf({ records, accepted, refused, withdrawn }: Stats['total']) {
  return {
    Records: formatNumber(records ?? 0),
    Accepted: formatNumber(accepted ?? 0),
    Refused: formatNumber(refused ?? 0),
    Withdrawn: formatNumber(withdrawn ?? 0),
    Rate: formatRate({ accepted, refused }) || 'none',
  }
}

async function readKeys() {
  const { data } = await client.call(api.keys.list, {})
  const [now, until] = [0, keyDays].map(days => new Date(Date.now() + days * 24 * 60 * 60 * 1000).toISOString())
  const isEnding = ({ revoked_at, expires_at: at }: ApiKey) =>
    !revoked_at && at && at > (now ?? '') && at <= (until ?? '')
  return data.filter(isEnding).sort((one, other) => ((one.expires_at ?? '') < (other.expires_at ?? '') ? -1 : 1))
}

const keyColumns: Columns<ApiKey> = {
  Key: ({ name }) => <Text of={name} />,
  Ends: ({ expires_at }) => <Time at={expires_at} />,
  'Last used': ({ last_used_on: day }) => day ?? <span class="none">never</span>,
}

function EndingKeys() {
  const keys = useCall(readKeys, [])
  return (
    <>
      <h2>Keys that end</h2>
      <Show of={keys}>
        {rows => (
          <Table label="Keys that end" columns={keyColumns} rows={rows} empty={`No key ends within ${keyDays} days.`} />
        )}
      </Show>
      <p>
        <Link to={['keys']}>All keys</Link>
      </p>
    </>
  )
}

function FailingWebhooks() {
  const webhooks = useCall(() => client.call(api.webhooks.list, {}), [])
  const { State, Undelivered } = factsOf([])
  return (
    <Show of={webhooks}>
      {({ data }) => (
        <Table
          label="Webhooks that fail"
          isTitled
          columns={{ URL: ({ id, url }) => <Link to={['webhooks', id]}>{url}</Link>, State, Undelivered }}
          rows={data.filter(({ state }) => state === 'failing')}
        />
      )}
    </Show>
  )
}
