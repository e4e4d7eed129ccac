import * as z from 'zod'
import { Consent, ConsentChange, ConsentDraft, ConsentPage, ConsentQuery, History } from './consent.ts'
import { SignedConsentReceipt } from './documents/consent-receipt.ts'
import { ById, endpoint, NoQuery } from './endpoint.ts'
import { QueryBoolean } from './values.ts'

const path = '/api/v1/consents'
const GetQuery = z.strictObject({ include_deleted: QueryBoolean.optional() })

/** The six routes of the specification's section 4, and the receipt. What an instance answers to a removal is its own affair. */
export const consents = {
  create: endpoint({
    summary: 'Create a consent record',
    method: 'POST',
    path,
    access: 'account',
    scope: 'write',
    query: NoQuery,
    body: ConsentDraft,
    status: 201,
    response: Consent,
    errors: ['not_found', 'conflict'],
  }),
  list: endpoint({
    summary: 'List records, newest first',
    method: 'GET',
    path,
    access: 'account',
    scope: 'read',
    query: ConsentQuery,
    status: 200,
    response: ConsentPage,
  }),
  get: endpoint({
    summary: 'Read one record',
    method: 'GET',
    path: `${path}/:id`,
    access: 'account',
    scope: 'read',
    params: ById,
    query: GetQuery,
    status: 200,
    response: Consent,
  }),
  update: endpoint({
    summary: 'Change the acceptance or the preferences of a record; the change is audited',
    method: 'PUT',
    path: `${path}/:id`,
    access: 'account',
    scope: 'write',
    params: ById,
    query: NoQuery,
    body: ConsentChange,
    status: 200,
    response: Consent,
  }),
  remove: endpoint({
    summary: 'Delete a record logically; its history stays',
    method: 'DELETE',
    path: `${path}/:id`,
    access: 'account',
    scope: 'erase',
    params: ById,
    query: NoQuery,
    status: 200,
    response: Consent.nullable().catch(null),
  }),
  history: endpoint({
    summary: 'The audit trail of a record, oldest first',
    method: 'GET',
    path: `${path}/:id/history`,
    access: 'account',
    scope: 'read',
    params: ById,
    query: NoQuery,
    status: 200,
    response: History,
  }),
  receipt: endpoint({
    summary: 'A signed statement of what a record says and how it came about',
    method: 'GET',
    path: `${path}/:id/receipt`,
    access: 'account',
    scope: 'read',
    params: ById,
    query: NoQuery,
    status: 200,
    response: SignedConsentReceipt,
    errors: ['conflict'],
  }),
}
