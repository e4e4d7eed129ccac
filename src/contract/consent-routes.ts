import type { Route } from './endpoint.ts'
import { operators, readers } from './roles.ts'

const path = '/api/v1/consents'

export const consentRoutes = {
  create: {
    summary: 'Create a consent record',
    method: 'POST',
    path,
    access: 'account',
    scope: 'write',
    siteKeys: 'filtered',
    roles: operators,
    status: 201,
    errors: ['not_found', 'conflict'],
  },
  list: {
    summary: 'List records, newest first',
    method: 'GET',
    path,
    access: 'account',
    scope: 'read',
    siteKeys: 'filtered',
    roles: readers,
    status: 200,
    streams: true,
  },
  get: {
    summary: 'Read one record',
    method: 'GET',
    path: `${path}/:id`,
    access: 'account',
    scope: 'read',
    siteKeys: 'filtered',
    roles: readers,
    status: 200,
  },
  update: {
    summary: 'Change the acceptance or the preferences of a record; the change is audited',
    method: 'PUT',
    path: `${path}/:id`,
    access: 'account',
    scope: 'write',
    siteKeys: 'filtered',
    roles: operators,
    status: 200,
  },
  remove: {
    summary: 'Delete a record logically; its history stays',
    method: 'DELETE',
    path: `${path}/:id`,
    access: 'account',
    scope: 'erase',
    siteKeys: 'filtered',
    roles: operators,
    status: 200,
  },
  history: {
    summary: 'Get the audit trail of a record, oldest first',
    method: 'GET',
    path: `${path}/:id/history`,
    access: 'account',
    scope: 'read',
    siteKeys: 'filtered',
    roles: readers,
    status: 200,
  },
} as const satisfies Readonly<Record<string, Route>>
