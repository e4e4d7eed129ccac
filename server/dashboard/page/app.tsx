import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary, useState } from 'preact/hooks'
import { useAction } from './call.ts'
import { lossNow, mayLeave } from './leaving.ts'
import { Dialog } from './parts/dialog.tsx'
import { Field, Form } from './parts/form.tsx'
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
    return followSession()
  }, [])
  if (status === 'unknown') {
    return (
      <main class="alone">
        <h1>consentctl</h1>
        {reading.error ? <Problem error={reading.error} retry={reading.run} /> : <p role="status">Loading …</p>}
      </main>
    )
  }
  if (!session) {
    return (
      <main class="alone">
        <h1>Sign in to consentctl</h1>
        <SignIn email="" />
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
            <button type="button" onClick={() => mayLeave() && restart()}>
              Leave, and empty this page
            </button>
          </p>
        </Dialog>
      )}
      <Frame email={session.user.email} isReader={session.user.role !== 'owner'} />
    </>
  )
}

function SignIn({ email: known }: { readonly email: string }) {
  const [email, setEmail] = useState(known)
  const [password, setPassword] = useState('')
  const action = useAction(async () => {
    await signIn(email, password)
    setPassword('')
  })
  return (
    <Form action={action} submit="Sign in">
      <Field label="E-mail" name="email" type="email" autoComplete="username" value={email} onValue={setEmail} />
      <Field
        label="Password"
        name="password"
        type="password"
        autoComplete="current-password"
        value={password}
        onValue={setPassword}
      />
    </Form>
  )
}

function Frame({ email, isReader }: { readonly email: string; readonly isReader: boolean }) {
  const place = usePlace()
  const current = screens.find(({ path }) => path === place.screen) ?? screens[0]
  const leaving = useAction(signOut)
  if (!current) return null
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <header class="bar">
        <span class="brand">consentctl</span>
        <nav aria-label="Screens">
          <ul>
            {screens.map(({ path, title }) => (
              <li key={path}>
                <a href={linkTo(path)} aria-current={path === current.path ? 'page' : undefined}>
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <div class="who">
          <span>
            <Text of={email} />
            {isReader && <small class="hint"> reader: sees all, changes nothing</small>}
          </span>
          <button type="button" class="small" onClick={() => mayLeave() && leaving.run()}>
            Sign out
          </button>
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
