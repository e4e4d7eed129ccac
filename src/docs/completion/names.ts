export const shellNames = ['bash', 'zsh', 'fish', 'powershell'] as const

export type ShellName = (typeof shellNames)[number]

/** From local files, without requests. */
export const localKinds = ['profiles', 'sites', 'settings', 'imports', 'erasures', 'receipts', 'tickets'] as const

export type LocalKind = (typeof localKinds)[number]
