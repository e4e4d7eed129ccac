import { HttpResponse, http } from 'msw'
import { expect, it } from 'vitest'
import { run } from '../../support/cli.ts'
import { useInstance } from '../../support/instance.ts'

const instance = useInstance()

const record = { id: '7', site_id: 's', accepted: true, created_at: '2026-01-31T09:30:00.000Z', invented: 1 }

it('shows a record of an instance that sends fewer fields and others', async () => {
  instance.use(http.get('*/api/v1/consents/7', () => HttpResponse.json(record)))
  const env = { CONSENTCTL_BASE_URL: instance.url, CONSENTCTL_API_KEY: 'sk-x', HOME: '/nowhere' }
  const { code, stdout, stderr } = await run(['get', '7', '-o', 'json'], { env })
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ id: '7', accepted: true, subject_id: null })
})
