import { useEffect, useState } from 'preact/hooks'
import { useAction } from '../call.ts'
import { option } from '../parts/command.tsx'
import { Field, Form } from '../parts/form.tsx'
import { Screen } from '../parts/screen.tsx'
import { continueSignedIn, useErasure } from '../person/erasure.ts'
import { ErasureView } from '../person/erasure-view.tsx'
import { HeldView } from '../person/held-view.tsx'
import { useSession } from '../session.ts'

interface Search {
  readonly subjects: readonly string[]
  readonly round: number
}

/** What is held on a person, and its erasure. Identifiers are in memory alone: in no address, and in no storage. */
export function Person() {
  const { epoch } = useSession()
  const erasure = useErasure()
  const [text, setText] = useState('')
  const [search, setSearch] = useState<Search | null>(null)
  useEffect(continueSignedIn, [epoch])
  const find = (subjects: readonly string[]) => {
    setText(subjects.join('\n'))
    setSearch({ subjects, round: (search?.round ?? 0) + 1 })
  }
  const finding = useAction(async () => find(identifiersIn(text)))
  if (erasure) {
    const { subjects, ticket, reason, received_at } = erasure.state.header
    const words = [option('ticket', ticket), option('reason', reason), option('received', received_at)].flat()
    return (
      <Screen title="Person" command={['subject', 'erase', ...words, ...operands(subjects)]}>
        <ErasureView erasure={erasure} onClosed={() => find(subjects)} />
      </Screen>
    )
  }
  return (
    <Screen
      title="Person"
      command={search ? ['subject', 'find', '--like', ...operands(search.subjects)] : ['subject', 'find', '--help']}
    >
      <Form action={finding} submit="Find" isDisabled={identifiersIn(text).length === 0}>
        <Field
          label="Identifiers of one person"
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

/** Each once. Blanks belong to an identifier. */
function identifiersIn(text: string): string[] {
  return [...new Set(text.split('\n').filter(line => line !== ''))]
}

/** The first identifier is an operand, the others are options. */
function operands([first = '', ...others]: readonly string[]): string[] {
  return [...others.flatMap(each => option('also', each)), ...(first.startsWith('-') ? ['--'] : []), first]
}
