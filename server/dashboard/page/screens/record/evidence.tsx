import { createTar } from 'nanotar'
import { useId, useState } from 'preact/hooks'
import { collectPack } from '../../../../../src/packs/collect.ts'
import { listUnsealed } from '../../../../../src/packs/unsealed.ts'
import { useAction, useRequireShown } from '../../call.ts'
import { Button } from '../../parts/button.tsx'
import { Command } from '../../parts/command.tsx'
import { download, sha256Hex } from '../../parts/file.ts'
import { Problem } from '../../parts/problem.tsx'
import { formatCount } from '../../parts/text.tsx'
import { client } from '../../session.ts'
import { baseUrl } from '../../transport.ts'

/** Downloads an evidence pack. The page neither verifies it nor has a key to sign it. */
export function EvidencePack({ id }: { readonly id: string }) {
  const [state, setState] = useState('')
  const requireShown = useRequireShown()
  const heading = useId()
  const action = useAction(async () => {
    const say = (text: string) => {
      requireShown()
      setState(text)
    }
    say('Reading the evidence …')
    const collected = await collectPack(
      {
        client,
        pause: ms => new Promise(resolve => setTimeout(resolve, ms)),
        onFiles: count =>
          say(count === 0 ? 'Waiting for a checkpoint of the log …' : `Reading: ${formatCount(count, 'file')} …`),
      },
      id,
    ).catch(error => {
      setState('')
      throw error
    })
    if (!collected) return say(notInLog)
    const files = await listUnsealed(collected, { instance: baseUrl, created_at: new Date().toISOString() }, sha256Hex)
    const entries = [...files].map(([name, data]) => ({ name: `${id}/${name}`, data }))
    say(`Downloaded ${formatCount(files.size, 'file')}, in evidence-${id}.tar. Nothing of it was verified here.`)
    download(createTar(entries, { attrs: { mode: '600', uid: 0, gid: 0 } }), `evidence-${id}.tar`, 'application/x-tar')
  })
  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>Evidence pack</h2>
      <p>
        An archive that proves this record without the service, with what is stored of the person in clear: the record,
        its history and receipt, the notice, as far as there is one, and proofs that the log has them.{' '}
        <code>consentctl verify</code> checks it; this page verifies nothing of it, and nobody signs the list of its
        files. The command below verifies and signs.
      </p>
      <Problem error={action.error} />
      <p class="buttons">
        <Button text="Download the evidence pack" isOff={action.isRunning} onClick={action.run} />
        <span role="status">{state}</span>
      </p>
      <Command words={['evidence', id, '--out', `sealed-${id}.tar`]} />
    </section>
  )
}

const notInLog =
  'The log does not have all of this record yet: nothing was downloaded. Try again after its next checkpoint, which is made every CHECKPOINT_MINUTES (60 unless it is configured).'
