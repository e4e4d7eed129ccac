import { useState } from 'preact/hooks'
import { api } from '../../../../src/contract/api.ts'
import type { Site } from '../../../../src/contract/sites.ts'
import { bannerNames, placeholders, scriptElement, snippetFor } from '../../../../src/domain/snippets.ts'
import { Command, Copy, options } from '../parts/command.tsx'
import { Select } from '../parts/form.tsx'
import { baseUrl } from '../transport.ts'

interface SnippetProps {
  readonly site: Pick<Site, 'id' | 'allowed_origins'>
  /** Empty unless just issued. */
  readonly token: string
}

const banners = [
  ['', 'Your own'] as const,
  ...bannerNames.map(name => [name, name === 'osano' ? 'osano cookieconsent' : name] as const),
]

export function SiteSnippet({ site, token }: SnippetProps) {
  const [chosen, setBanner] = useState('')
  const banner = bannerNames.find(name => name === chosen)
  const service = baseUrl.replaceAll("'", '%27')
  const code = banner ? snippetFor(banner, { service, ...(token && { token }) }) : ownBanner(service, token)
  return (
    <>
      <h2>In your pages</h2>
      {site.allowed_origins.length === 0 && (
        <p class="problem">No page may record consents for the site yet: add its origin.</p>
      )}
      <Select label="Banner" value={chosen} onValue={setBanner} options={banners} />
      <p>
        {banner
          ? 'A module that records what visitors choose in this banner. Load it after the banner:'
          : 'Call it when a visitor chooses something, and at nothing else. Keep the consent_token that is answered, and send it with the next choice.'}{' '}
        {banner && <code>{scriptElement}</code>}
      </p>
      {!token && <p>Replace {placeholders.token} by the token of the site, which is shown only when it is issued.</p>}
      <pre>{code}</pre>
      <Copy text={code} label="Copy the snippet" />
      {banner && <Command words={['sites', 'snippet', site.id, ...options({ for: banner })]} />}
    </>
  )
}

function ownBanner(service: string, token: string): string {
  return `const record = (accepted, preferences) => fetch('${service}${api.banner.create.path}', {
  method: 'POST',
  headers: { 'Content-Type': 'application/json', 'X-Site-Token': '${token || placeholders.token}' },
  body: JSON.stringify({ subject_id: YOUR_ID_OF_THE_VISITOR, accepted, preferences }),
})
`
}
