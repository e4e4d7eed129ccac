import { Screen } from '../parts/screen.tsx'
import { Record } from './record.tsx'

/** `#/records` is the list, `#/records/ID` a record. */
export function Records({ params: [id] }: { readonly params: readonly string[] }) {
  return id === undefined ? <List /> : <Record id={id} key={id} />
}

function List() {
  return (
    <Screen title="Records" command={['list']}>
      …
    </Screen>
  )
}
