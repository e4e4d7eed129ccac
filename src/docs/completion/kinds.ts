/** From local files, without requests. */
export const localKinds = ['profiles', 'sites', 'settings', 'imports', 'erasures', 'receipts', 'tickets'] as const

export type LocalKind = (typeof localKinds)[number]
