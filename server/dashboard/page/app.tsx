import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary, useState } from 'preact/hooks'
import { useAction } from './call.ts'
import { lossNow, mayLeave } from './leaving.ts'
import { Button } from './parts/button.tsx'
import { Dialog } from './parts/dialog.tsx'
import { Field, Form, fieldsOf } from './parts/form.tsx'
import { Problem } from './parts/problem.tsx'
import { Screen } from './parts/screen.tsx'
import { Text } from './parts/text.tsx'
import { linkTo, usePlace } from './router.ts'
import { screens } from './screens/index.ts'
import { followSession, readSession, restart, signIn, signOut, useSession } from './session.ts'

export function App() {
  const { status, session } = useSession()
  const reading = useAction(readSession)
  useEffect(() => {
    reading.run()
    followSession()
  }, [])
  if (!session) {
    return (
      <main class="alone">
        <h1>{status === 'unknown' ? 'consentctl' : 'Sign in to consentctl'}</h1>
        {status === 'signed_out' && <SignIn email="" />}
        {status === 'unknown' && !reading.error && <p role="status">Loading …</p>}
        <Problem error={reading.error} retry={reading.run} />
      </main>
    )
  }
  return (
    <>
      {status === 'ended' && (
        <Dialog title="Your session has ended" isOpaque>
          <p>Sign in again to continue: what you typed is still here. What the service rejected was not carried out.</p>
          {lossNow() && <p>If another user signs in, this page is emptied: {lossNow()}</p>}
          <SignIn email={session.user.email} />
          <p class="buttons">
            <Button text="Leave, and empty this page" onClick={() => mayLeave() && restart()} />
          </p>
        </Dialog>
      )}
      <Frame email={session.user.email} role={session.user.role} />
    </>
  )
}

function SignIn({ email: known }: { readonly email: string }) {
  const [fields, setFields] = useState({ email: known, password: '' })
  const field = fieldsOf(fields, setFields)
  const run = async () => {
    await signIn(fields.email, fields.password)
    setFields({ ...fields, password: '' })
  }
  return (
    <Form run={run} submit="Sign in">
      <Field label="E-mail" type="email" autoComplete="username" {...field('email')} />
      <Field label="Password" type="password" autoComplete="current-password" {...field('password')} />
    </Form>
  )
}

const roleTexts: Readonly<Record<string, string>> = {
  operator: 'operator: changes records and requests, but no settings',
  publisher: 'publisher: sees and publishes notices',
  reader: 'reader: sees all, changes nothing',
}

function Frame({ email, role }: { readonly email: string; readonly role: string }) {
  const place = usePlace()
  const shown = screens.filter(({ reads }) => reads.roles?.some(each => each === role))
  const current = shown.find(({ path }) => path === place.screen) ?? shown[0]
  const leaving = useAction(signOut)
  if (!current) return null
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <header class="bar">
        <strong>consentctl</strong>
        <nav aria-label="Screens">
          <ul>
            {shown.map(({ path, title }) => (
              <li key={path}>
                <a href={linkTo(path)} aria-current={path === current.path ? 'page' : undefined}>
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <div class="buttons who">
          <span>
            <Text of={email} />
            {roleTexts[role] && <small> {roleTexts[role]}</small>}
          </span>
          <Button text="Sign out" kind="small" onClick={() => mayLeave() && leaving.run()} />
          <Problem error={leaving.error} />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <Guard key={current.path}>
          {current.address.test(place.params.join('/')) ? (
            <current.show params={place.params} />
          ) : (
            <Screen title="There is no such page">Check that the address is complete.</Screen>
          )}
        </Guard>
      </main>
    </>
  )
}

/** Shows the error of a screen that fails, so that the navigation still works. */
function Guard({ children }: { readonly children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary()
  return error ? <Problem error={error} retry={reset} /> : children
}
