import { useId, useState } from 'preact/hooks'
import { api } from '../../../../../src/contract/api.ts'
import { useAction } from '../../call.ts'
import { Button } from '../../parts/button.tsx'
import { Command } from '../../parts/command.tsx'
import { download } from '../../parts/file.ts'
import { Problem } from '../../parts/problem.tsx'
import { client } from '../../session.ts'

export function EvidencePack({ id }: { readonly id: string }) {
  const [state, setState] = useState('')
  const heading = useId()
  const action = useAction(async () => {
    setState('')
    const pack = await client.bytes(api.consents.evidence, { params: { id } })
    download(pack, `evidence-${id}.tar`, 'application/x-tar')
    setState(`Downloaded evidence-${id}.tar. To check it: consentctl verify evidence-${id}.tar`)
  })
  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>Evidence pack</h2>
      <p>
        An archive that proves this record without the service, with what is stored of the person in clear: the record,
        its history and receipt, the notice, if there is one, and proofs that the log has them. The service verifies it,
        and signs the list of its files.
      </p>
      <Problem error={action.error} retry={action.run} />
      <p class="buttons">
        <Button text="Download the evidence pack" isOff={action.isRunning} onClick={action.run} />
        <span role="status">{state}</span>
      </p>
      <Command words={['evidence', id, '--out', `evidence-${id}.tar`]} />
    </section>
  )
}
