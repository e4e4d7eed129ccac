import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { blocked, isPublic } from '../../../server/webhooks/address.ts'
import { Sender } from '../../../server/webhooks/sender.ts'
import { useService } from '../../support/service.ts'
import { newHookOwner, useReceiver } from './receiver.ts'

const service = useService()
const receiver = useReceiver()
let own: Awaited<ReturnType<typeof newHookOwner>>
beforeEach(async () => {
  own = await newHookOwner(service)
})

const refused = [
  ...[
    'http://example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'example.com',
    '//example.com',
  ],
  ...[
    'http://localhost:8787/',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://127.0.0.1:8787/',
    'https://2130706433/',
  ],
  ...['https://0x7f000001/', 'https://0x7f.0.0.1/', 'https://0177.0.0.1/', 'https://017700000001/', 'https://0/'],
  ...[
    'https://0.0.0.0/',
    'https://10.0.0.1/',
    'https://172.16.0.1/',
    'https://172.31.255.255/',
    'https://192.168.1.1/',
  ],
  ...['https://169.254.169.254/latest/meta-data/', 'https://100.64.0.1/', 'https://198.18.0.1/', 'https://192.0.0.8/'],
  ...['https://224.0.0.1/', 'https://240.0.0.1/', 'https://255.255.255.255/', 'https://[::]/', 'https://[::1]/'],
  ...['https://[::ffff:127.0.0.1]/', 'https://[::ffff:7f00:1]/', 'https://[::127.0.0.1]/', 'https://[fe80::1]/'],
  ...['https://[fd00:ec2::254]/', 'https://[fec0::1]/', 'https://[ff02::1]/', 'https://[64:ff9b::7f00:1]/'],
  ...['https://[2002:7f00:1::]/', 'https://[2001:db8::1]/', 'https://[2001::1]/', 'https://[100::1]/'],
  ...[
    'https://１２７.０.０.１/',
    'https://①②⑦.0.0.1/',
    'https://user:secret@127.0.0.1/',
    'https://%31%32%37.0.0.1/',
    'https://a%zz:b@example.com/',
  ],
]

describe('an address inside', () => {
  it.each(refused)('is refused: %s', async url => {
    const { status, body } = await own.send('POST', '', { url })
    expect([status, body.error, body.message]).toEqual([400, 'invalid_request', expect.stringMatching(/^url: /)])
  })

  it.each(['https://93.184.215.14/', 'https://[2606:2800:21f:cb07::1]/', 'https://hooks.example.com./a?key=1'])(
    'is not %s',
    async url => {
      expect((await own.send('POST', '', { url })).status).toBe(201)
    },
  )

  const resolving = (...answers: string[]) => {
    let next = 0
    const sender = new Sender(new Set(), {
      timeoutMs: 300,
      resolve: (_host, _options, done) => {
        const address = answers[Math.min(next++, answers.length - 1)] ?? ''
        done(
          null,
          address.split(' ').map(each => ({ address: each, family: each.includes(':') ? 6 : 4 })),
        )
      },
    })
    return sender
  }
  const endpoint = (target: string) => ({
    ...{
      target,
      signature: 'v1' as const,
      secret: Buffer.alloc(32),
      previous_secret: null,
      previous_secret_until: null,
    },
  })
  const message = { id: 'a', body: '{}', position: 1 }

  it.each(['127.0.0.1', '::1', '::ffff:10.0.0.1', '169.254.169.254', 'fd00:ec2::254', '93.184.215.14 10.0.0.1'])(
    'is refused when a name resolves to it: %s',
    async address => {
      const sender = resolving(address)
      const { port } = new URL(receiver.url)
      const { problem, status } = await sender.send(endpoint(`https://hooks.example.com:${port}/`), message)
      expect([problem, status]).toEqual([blocked, null])
      expect(receiver.deliveries).toEqual([])
      await sender.close()
    },
  )

  it('is refused when the second resolution has it', async () => {
    const sender = resolving('192.0.2.1'.replace('192.0.2.1', '93.184.215.14'), '127.0.0.1')
    const [first, second] = [
      await sender.send(endpoint('https://hooks.example.com:9/'), message),
      await sender.send(endpoint('https://hooks.example.com:9/'), message),
    ]
    expect(first.problem).not.toBe(blocked)
    expect(second.problem).toBe(blocked)
    await sender.close()
  })

  it('is reached if it is allowed by name, also without TLS', async () => {
    const url = new URL(receiver.url)
    const sender = new Sender(new Set(['inside.example']), {
      resolve: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
    })
    afterAll(() => sender.close())
    const { problem } = await sender.send(endpoint(`http://inside.example:${url.port}/`), message)
    expect(problem).toBeNull()
    expect((await sender.send(endpoint(`http://outside.example:${url.port}/`), message)).status).toBeNull()
  })

  it('is in none of the public ranges', () => {
    const inside = [
      '0.1.2.3',
      '100.127.255.255',
      '192.0.2.1',
      '198.51.100.1',
      '203.0.113.1',
      '198.19.255.255',
      '::ffff:0:0',
      '2001:db8::',
    ]
    expect(inside.filter(isPublic)).toEqual([])
    expect(['1.1.1.1', '100.128.0.0', '172.32.0.1', '2606:4700::1111', '2a00::1'].filter(isPublic)).toHaveLength(5)
  })
})
