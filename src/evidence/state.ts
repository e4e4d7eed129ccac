/** `partly`: for some of the purposes. */
export type ConsentState = 'given' | 'partly' | 'withdrawn' | 'refused'

interface Answer {
  readonly accepted: boolean | null
  readonly preferences: Readonly<Record<string, unknown>> | null
}

/**
 * After each event, oldest first. Purposes are the names that were true or false in the preferences so far: acceptance
 * is no consent to a purpose that is not true.
 */
export function consentStates(answers: readonly Answer[]): ConsentState[] {
  const purposes = new Set<string>()
  let wasGiven = false
  return answers.map(({ accepted, preferences }) => {
    const named = Object.entries(preferences ?? {}).filter(([, answer]) => typeof answer === 'boolean')
    for (const [purpose] of named) purposes.add(purpose)
    const consented = named.filter(([, answer]) => answer).length
    if (!accepted || (consented === 0 && purposes.size > 0)) return wasGiven ? 'withdrawn' : 'refused'
    wasGiven = true
    return consented < purposes.size ? 'partly' : 'given'
  })
}

/** Without a history, `withdrawn` and `refused` are the same. */
export function currentState(record: Answer): ConsentState {
  return consentStates([record])[0] ?? 'refused'
}
