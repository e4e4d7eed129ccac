import { useEffect, useState } from 'preact/hooks'
import { Field, Form } from '../parts/form.tsx'
import { Screen } from '../parts/screen.tsx'
import { useSession } from '../session.ts'
import { eraseCommand, findCommand } from './person/erase-form.tsx'
import { continueSignedIn, useErasure } from './person/erasure.ts'
import { ErasureView } from './person/erasure-view.tsx'
import { HeldView } from './person/held-view.tsx'
import { identifiersIn, lastSearch, readIdentifiers, searchFor } from './person/search.ts'

export function Person() {
  const { epoch } = useSession()
  const erasure = useErasure()
  const [search, setSearch] = useState(lastSearch)
  const [text, setText] = useState(search?.subjects.join('\n') ?? '')
  useEffect(continueSignedIn, [epoch])
  const find = (subjects: readonly string[], request = search?.request ?? null) => {
    setText(subjects.join('\n'))
    const isSame = request?.subject_ids?.every(each => subjects.includes(each))
    setSearch(searchFor(subjects, isSame ? request : null))
  }
  if (erasure) {
    const { subjects } = erasure.state.order
    return (
      <Screen title="Person" command={eraseCommand(erasure.state.order)}>
        <ErasureView erasure={erasure} onClosed={() => setSearch(searchFor(subjects))} />
      </Screen>
    )
  }
  return (
    <Screen title="Person" command={search ? findCommand(search.subjects) : ['subject', 'find', '--help']}>
      <Form
        run={async () => find(readIdentifiers(text))}
        submit="Find"
        missing={identifiersIn(text).length === 0 ? 'No identifier yet.' : ''}
      >
        <Field
          label="Identifiers of one person"
          name="subject_id"
          hint="One a line, exactly as stored: case and blanks count. All lines are searched as one person, on every site of the account."
          value={text}
          onValue={setText}
          lines={3}
        />
      </Form>
      {search && <HeldView key={search.round} {...search} find={find} />}
    </Screen>
  )
}
