/** In the order in which they are stated. Without zod, because the dashboard has none. */
const labels = {
  method: 'method',
  channel: 'channel',
  form: 'form',
  form_sha256: 'form SHA-256',
  given_by: 'given by',
  relation: 'relation',
  confirmed_at: 'confirmed',
  reference: 'reference',
  note: 'note',
} as const

export type CircumstanceName = keyof typeof labels

export const circumstanceNames = Object.keys(labels) as CircumstanceName[]

/** How an answer was given, as reported by the sender: a label and a text each. */
export function describeCircumstances(
  reported: Readonly<Record<string, unknown>> | null | undefined,
): (readonly [label: string, text: string])[] {
  return circumstanceNames.flatMap(name => {
    const text = reported?.[name]
    return text === undefined ? [] : [[labels[name], String(text)] as const]
  })
}
