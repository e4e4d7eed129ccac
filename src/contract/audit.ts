/** Changes that the administrators' log has. */
export const auditActions = [
  'adopted',
  'account_created',
  'site_created',
  'site_updated',
  'site_token_rotated',
  'key_created',
  'key_revoked',
  'user_added',
  'user_removed',
  'password_changed',
  'quota_changed',
  'notice_published',
  'records_purged',
  'imported',
] as const
export type AuditAction = (typeof auditActions)[number]

/** `admin`: a command on the machine; `system`: a schedule of the service. */
export const auditActors = ['user', 'api_key', 'admin', 'system'] as const

export const auditTargets = ['account', 'site', 'api_key', 'user', 'notice'] as const

export interface AuditTarget {
  readonly kind: (typeof auditTargets)[number]
  readonly id: string
}
