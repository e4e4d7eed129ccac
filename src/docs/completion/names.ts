export const shellNames = ['bash', 'zsh', 'fish', 'powershell'] as const

export type ShellName = (typeof shellNames)[number]

/** Reads local files and sends no requests. */
export const localKinds = ['profiles', 'sites', 'settings', 'imports', 'erasures', 'receipts', 'tickets'] as const

export type LocalKind = (typeof localKinds)[number]
