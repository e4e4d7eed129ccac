import { useEffect, useState } from 'preact/hooks'
import { useAction } from './call.ts'
import { Dialog } from './parts/dialog.tsx'
import { Field, Form } from './parts/form.tsx'
import { Problem } from './parts/problem.tsx'
import { Text } from './parts/text.tsx'
import { linkTo, usePlace } from './router.ts'
import { screens } from './screens/index.ts'
import { readSession, restart, signIn, signOut, useSession } from './session.ts'

export function App() {
  const { status, session } = useSession()
  const reading = useAction(readSession)
  useEffect(() => {
    reading.run()
    // Another tab may have signed out, or the session may have ended while the machine slept.
    const look = () => document.visibilityState === 'visible' && readSession().catch(() => {})
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])
  if (status === 'unknown') {
    return (
      <main class="alone">
        {reading.error ? <Problem error={reading.error} retry={reading.run} /> : <p role="status">Loading …</p>}
      </main>
    )
  }
  if (!session) {
    return (
      <main class="alone">
        <h1>Sign in</h1>
        <SignIn email="" />
      </main>
    )
  }
  return (
    <>
      <Frame email={session.user.email} isReader={session.user.role !== 'owner'} />
      {status === 'ended' && (
        <Dialog title="Your session has ended">
          <p>Sign in again to continue: what you typed is still here. What you sent last was not carried out.</p>
          <SignIn email={session.user.email} />
          <p class="buttons">
            <button type="button" onClick={restart}>
              Leave, and empty this page
            </button>
          </p>
        </Dialog>
      )}
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
      <Field label="E-mail" type="email" autoComplete="username" value={email} onValue={setEmail} />
      <Field label="Password" type="password" autoComplete="current-password" value={password} onValue={setPassword} />
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
          <button type="button" class="small" onClick={leaving.run}>
            Sign out
          </button>
          <Problem error={leaving.error} />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <current.show params={place.params} key={current.path} />
      </main>
    </>
  )
}
