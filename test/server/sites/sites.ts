import type { BannerLimits } from '../../../server/banner/routes.ts'
import type { ServiceResponse, TestNode } from '../../support/service.ts'

export const path = '/api/v1/sites'

/** No limits: these tests are about which tokens work. */
export const bannerLimits: BannerLimits = {
  address: { max: 100_000, seconds: 60 },
  site: { max: 100_000, seconds: 60 },
}

/** Posts a consent as the banner of a page does. */
export function visit(node: TestNode, token: string, headers: Record<string, string> = {}): Promise<ServiceResponse> {
  return node.call('POST', '/api/v1/public/consent', {
    body: {},
    headers: { 'x-site-token': token, ...headers },
  })
}

/** Origins as browsers write them. */
export const origins = [
  'https://www.example.com',
  'http://localhost:3000',
  'https://example.com:8443',
  'http://192.0.2.1',
  'http://[2001:db8::1]:8080',
  'https://xn--mnchen-3ya.example',
  'https://a.b.c.d.example.com',
]

/** Texts that no browser sends as the origin of a page on the web. */
export const noOrigins = [
  '',
  'null',
  '*',
  'www.example.com',
  '//www.example.com',
  'https://',
  'https:///www.example.com',
  'https://www.example.com/',
  'https://www.example.com/path',
  'https://www.example.com?',
  'https://www.example.com?a=b',
  'https://www.example.com#',
  'https://www.example.com#a',
  'https://WWW.example.com',
  'HTTPS://www.example.com',
  'https://www.example.com:443',
  'http://www.example.com:80',
  'https://www.example.com:',
  'https://www.example.com:0443',
  'https://www.example.com:65536',
  'https://user@www.example.com',
  'https://*.example.com',
  'https://*',
  'https://"',
  'https://,',
  'https://.',
  'https://a:0',
  'https://user:secret@www.example.com',
  'https://münchen.example',
  'https://www.example.com, https://shop.example.com',
  ' https://www.example.com',
  'https://www.example.com ',
  'https://www.exa mple.com',
  'https://www.example.com\n',
  'https://www.example.com\\',
  'https://%77ww.example.com',
  'http://127.1',
  'http://0x7f000001',
  'http://[::0001]',
  'ftp://www.example.com',
  'file://',
  'javascript:alert(1)',
  'chrome-extension://abcdefghijklmnop',
  'blob:https://www.example.com',
  `https://${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example`,
]
