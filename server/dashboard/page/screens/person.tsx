import { useEffect, useState } from 'preact/hooks'
import { Field, Form } from '../parts/form.tsx'
import { Mistake } from '../parts/problem.tsx'
import { Screen } from '../parts/screen.tsx'
import { useSession } from '../session.ts'
import { eraseCommand, findCommand } from './person/erase-form.tsx'
import { continueSignedIn, useErasure } from './person/erasure.ts'
import { ErasureView } from './person/erasure-view.tsx'
import { HeldView } from './person/held-view.tsx'

interface Search {
  readonly subjects: readonly string[]
  readonly round: number
}

/** The last search, kept for returning from a record. In memory only: identifiers must not be in addresses or storage. */
let kept: Search | null = null

export function Person() {
  const { epoch } = useSession()
  const erasure = useErasure()
  const [text, setText] = useState(kept?.subjects.join('\n') ?? '')
  const [search, setSearch] = useState(kept)
  useEffect(continueSignedIn, [epoch])
  const find = (subjects: readonly string[]) => {
    setText(subjects.join('\n'))
    kept = { subjects, round: (kept?.round ?? 0) + 1 }
    setSearch(kept)
  }
  if (erasure) {
    const { subjects } = erasure.state.order
    return (
      <Screen title="Person" command={eraseCommand(erasure.state.order)}>
        <ErasureView erasure={erasure} onClosed={() => find(subjects)} />
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
      {search && <HeldView key={search.round} subjects={search.subjects} find={find} />}
    </Screen>
  )
}

/**
 * Returns the last search's identifiers if the text is unchanged. @throws Mistake if one of them has a line break, because the
 * field would split it
 */
function readIdentifiers(text: string): readonly string[] {
  if (text === kept?.subjects.join('\n')) return kept.subjects
  const broken = kept?.subjects.some(each => /[\r\n]/.test(each) && text.includes(each.replace(/\r\n?/g, '\n')))
  if (broken) throw new Mistake('One identifier has a line break. Clear the field before you type others.')
  return identifiersIn(text)
}

/** Returns one identifier per line, without duplicates. Spaces are part of it. */
function identifiersIn(text: string): string[] {
  return [...new Set(text.split('\n').filter(line => line !== ''))]
}
