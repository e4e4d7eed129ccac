/** Roles of users. Each endpoint says which of them may call it with a session. */
export const roles = ['owner', 'operator', 'publisher', 'reader'] as const
export type Role = (typeof roles)[number]

export const owners: readonly Role[] = ['owner']
export const operators: readonly Role[] = ['owner', 'operator']
export const publishers: readonly Role[] = ['owner', 'publisher']
/** Who sees everything, also persons. */
export const readers: readonly Role[] = ['owner', 'operator', 'reader']
export const everyRole: readonly Role[] = roles
