import type { DatabaseFinding } from '../contract/index.ts'
import type { View } from '../output/index.ts'
import { field } from './field.ts'

/** Something in a database that is not what the service wrote. */
export const findingView: View<DatabaseFinding> = {
  id: row => row.consent_id ?? '',
  columns: [
    field('account_id', { whole: true, rank: 5 }),
    field('consent_id', { whole: true, rank: 1 }),
    field('version', { rank: 4 }),
    field('problem', { whole: true, rank: 2 }),
    field('detail', { rank: 3 }),
  ],
}
