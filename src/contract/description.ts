import * as z from 'zod'
import { endpoint } from './endpoint.ts'

export const description = {
  get: endpoint({
    summary: 'Get this description of the API (OpenAPI 3.1)',
    method: 'GET',
    path: '/api/v1/openapi.json',
    access: 'anyone',
    status: 200,
    response: z.record(z.string(), z.unknown()).meta({ examples: [{ openapi: '3.1.1' }] }),
  }),
  page: endpoint({
    summary: 'Get this description as a page to read',
    method: 'GET',
    path: '/api/v1/docs',
    access: 'anyone',
    status: 200,
    response: z.string(),
    media: ['text/html'],
  }),
}
