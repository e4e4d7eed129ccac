// What HTTP/1.1 (RFC 9112) takes, and what is only its content's fault. In a text each character is a byte.
import { root } from '../consents/records.ts'
import { length, type Parts, type Row } from './request-parts.ts'

export const goodBodies: Row[] = [
  ['a length', parts => parts.post([length(parts)], parts.body)],
  ['a length after zeros', parts => parts.post([`Content-Length: 000${parts.body.length}`], parts.body)],
  ['white space around its length', parts => parts.post([`Content-Length:   ${parts.body.length}  `], parts.body)],
  ['a chunk', parts => parts.post([parts.coding], parts.chunked())],
  ['a chunk, in capitals', parts => parts.post(['TRANSFER-ENCODING: CHUNKED'], parts.chunked())],
  [
    'a chunk for each byte',
    parts => parts.post([parts.coding], `${[...parts.body].map(one => `1\r\n${one}\r\n`).join('')}0\r\n\r\n`),
  ],
  ['an extension of a chunk', parts => parts.post([parts.coding], parts.chunked().replace('\r\n', ';a=b;c="d"\r\n'))],
  ['a trailer', parts => parts.post([parts.coding, 'Trailer: X'], parts.chunked('X: y\r\n'))],
  ['HTTP/1.0', parts => parts.post([length(parts)], parts.body).replace('HTTP/1.1', 'HTTP/1.0')],
  ['Expect: 100-continue', parts => parts.post([length(parts), 'Expect: 100-continue'], parts.body)],
  ['an offer of HTTP/2', parts => parts.post([length(parts), 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'], parts.body)],
  ['a header of Latin-1', parts => parts.post([length(parts), 'X: \xe9'], parts.body)],
  ['a header of 15 KB', parts => parts.post([length(parts), `X: ${'y'.repeat(15_000)}`], parts.body)],
  ['a line break before it', parts => `\r\n${parts.post([length(parts)], parts.body)}`],
  ['a line break after it', parts => `${parts.post([length(parts)], parts.body)}\r\n`],
  ['an empty header', parts => parts.post([length(parts), 'X:'], parts.body)],
  [
    'a Connection that names its key',
    parts => parts.post([length(parts)], parts.body).replace('close', 'close, authorization'),
  ],
]

export const goodReads: Row[] = [
  ['the whole URL', ({ head }) => head(`GET http://x${root} HTTP/1.1`)],
  ['a URL of another host', ({ head }) => head(`GET http://example.com${root} HTTP/1.1`)],
  ['an escaped letter in its path', ({ head }) => head(`GET ${root.replace('a', '%61')} HTTP/1.1`)],
  ['HTTP/1.0 and no Host', ({ key }) => `GET ${root} HTTP/1.0\r\nAuthorization: Bearer ${key}\r\n\r\n`],
  ['an unknown expectation', ({ head }) => head(`GET ${root} HTTP/1.1`, 'Expect: miracles')],
  ['a body', ({ head }) => `${head(`GET ${root} HTTP/1.1`, 'Content-Length: 2')}{}`],
  ['chunks', ({ head, coding }) => `${head(`GET ${root} HTTP/1.1`, coding)}2\r\n{}\r\n0\r\n\r\n`],
  [
    'half a JSON',
    ({ head }) => `${head(`GET ${root} HTTP/1.1`, 'Content-Type: application/json', 'Content-Length: 1')}{`,
  ],
  [
    'an offer of a WebSocket',
    ({ head }) => head(`GET ${root} HTTP/1.1`, 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'),
  ],
]

/** Requests with a body that are refused before or while it is read: `[status, make]`; the body is `inner`. */
export const refusedWithBody: [status: number, make: (parts: Parts, inner: string) => string][] = [
  [400, ({ post }, inner) => post([`Content-Length: ${inner.length}`], inner)],
  [
    401,
    ({ key, ...parts }, inner) =>
      parts.post([`Content-Length: ${inner.length}`], inner).replace(`Authorization: Bearer ${key}\r\n`, ''),
  ],
  [404, ({ head }, inner) => head(`DELETE ${root}/x HTTP/1.1`, `Content-Length: ${inner.length}`) + inner],
  [405, ({ head }, inner) => head(`PATCH ${root} HTTP/1.1`, `Content-Length: ${inner.length}`) + inner],
  [
    413,
    ({ post }, inner) => {
      const large = inner.repeat(Math.ceil(140_000 / inner.length))
      return post([`Content-Length: ${large.length}`], large)
    },
  ],
  [415, ({ head }, inner) => head(`POST ${root} HTTP/1.1`, `Content-Length: ${inner.length}`) + inner],
]

/** What ought to be refused: a coding that is not undone, a Host that is none, a version or a target that is none. */
export const ambiguous: Row[] = [
  ...['gzip, chunked', 'x, chunked', 'identity, chunked', ', chunked'].map(
    (value): Row => [
      `a Transfer-Encoding that is ${value}`,
      ({ post, chunked }) => post([`Transfer-Encoding: ${value}`], chunked()),
    ],
  ),
  [
    'a second Transfer-Encoding before chunked',
    parts => parts.post(['Transfer-Encoding: gzip', parts.coding], parts.chunked()),
  ],
  ...['a, b', 'a b', 'u@x', 'x:y', 'x/y', '[::1', '<x>', '\xff'].map(
    (value): Row => [
      `a Host that is ${JSON.stringify(value)}`,
      ({ head }) => head('GET /live HTTP/1.1').replace('Host: x', `Host: ${value}`),
    ],
  ),
  ...['GET /live', 'GET /live HTTP/0.9', 'GET /live HTTP/2.0', 'GET /live#a HTTP/1.1'].map(
    (line): Row => [`the request line ${line}`, ({ head }) => head(line)],
  ),
]
