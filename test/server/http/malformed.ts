// What HTTP/1.1 (RFC 9112) refuses. In a text each character is a byte.
import { length, type Row } from './request-parts.ts'

const each = (...lines: string[]) => lines.flatMap(line => line.split('|'))

/** Values of a Content-Length; N is the right one. */
export const badLengths = each(
  '| |+N|-N|-0|0xN|N;|N,|N, N|N,N|N N|N.0|Ne0|"N"|N\0|\0N|N\v|\fN|N\xa0|\xb2|N\r\n 0|chunked',
  '18446744073709551616|99999999999999999999999',
)

export const badCodings = each(
  '| |identity|gzip|deflate|chunke|chunkedd|chunked;q=1|"chunked"|chunked\0|\vchunked|chunked\v|\xa0chunked',
  'chunked,|chunked, identity|chunked, gzip|chunked, chunked|chunked chunked|\r\n chunked|chunked\r\n\tx',
)

export const badChunkSizes = each(
  '| 2|2 |2\t|+2|-2|0x2|2h|g|2,2|2 2|2\0|2;|2;a\0|2;a\nb|2\n|2\r|\u00b2|fffffffffffffffff',
  `2;${'x'.repeat(20_000)}`,
)

export const badBodies: Row[] = [
  ['two Content-Lengths', parts => parts.post([length(parts), length(parts)], parts.body)],
  ['two Content-Lengths that differ', parts => parts.post([length(parts), 'Content-Length: 0'], parts.body)],
  ['a length, then chunks', parts => parts.post([length(parts), parts.coding], parts.chunked())],
  ['chunks, then a length', parts => parts.post([parts.coding, length(parts)], parts.chunked())],
  ['chunks, then a length of 0', parts => parts.post([parts.coding, 'Content-Length: 0'], parts.chunked())],
  ['chunks twice', parts => parts.post([parts.coding, parts.coding], parts.chunked())],
  ['chunks, then none', parts => parts.post([parts.coding, 'Transfer-Encoding: identity'], parts.chunked())],
  ['a tab before the colon of its length', parts => parts.post(['Content-Length\t: 2'], parts.body)],
  ['a space before the colon of its coding', parts => parts.post(['Transfer-Encoding : chunked'], parts.chunked())],
  [
    'a request after the end of a coding with a space before its colon',
    parts => {
      const smuggled = `0\r\n\r\n${parts.get('limit=1')}`
      return parts.post([`Content-Length: ${smuggled.length}`, 'Transfer-Encoding : chunked'], smuggled)
    },
  ],
  ['chunks that nobody announces', parts => parts.post(['Content_Length: 2'], parts.chunked())],
  ['a length too short', parts => parts.post([`Content-Length: ${parts.body.length - 1}`], parts.body)],
  ['a length far too large', parts => parts.post(['Content-Length: 9007199254740993'], parts.body)],
  ['a chunk too long', parts => parts.post([parts.coding], `1\r\n${parts.body}\r\n0\r\n\r\n`)],
  ['a chunk without its end', parts => parts.post([parts.coding], '2\r\n{}0\r\n\r\n')],
  ['bare line feeds around a chunk', parts => parts.post([parts.coding], '2\n{}\n0\n\n')],
  ['a bare line feed after a chunk', parts => parts.post([parts.coding], '2\r\n{}\n0\r\n\r\n')],
  ['a bare carriage return after a size', parts => parts.post([parts.coding], '2\r{}\r\n0\r\n\r\n')],
  ['a length among the trailers', parts => parts.post([parts.coding], parts.chunked('Content-Length: 5\r\n'))],
  ['a coding among the trailers', parts => parts.post([parts.coding], parts.chunked(`${parts.coding}\r\n`))],
  ['a trailer without a colon', parts => parts.post([parts.coding], parts.chunked('X\r\n'))],
  ['a trailer that ends in a line feed', parts => parts.post([parts.coding], parts.chunked('X: y\n'))],
  ['trailers of 30 KB', parts => parts.post([parts.coding], parts.chunked(`X: ${'y'.repeat(30_000)}\r\n`))],
  [
    'its key among the trailers',
    parts =>
      parts
        .post([parts.coding], parts.chunked(`Authorization: Bearer ${parts.key}\r\n`))
        .replace(`Authorization: Bearer ${parts.key}\r\n`, ''),
  ],
]

export const badLines = each(
  'GET|GET |/live HTTP/1.1|get /live HTTP/1.1|Get /live HTTP/1.1|GE T /live HTTP/1.1|GET\t/live HTTP/1.1',
  'GET /live\tHTTP/1.1|GET /live HTTP/1.1 |GET /live HTTP/1.1\0| GET /live HTTP/1.1|GET /li ve HTTP/1.1',
  'GET /li\0ve HTTP/1.1|GET /li\rve HTTP/1.1|GET /li\x7fve HTTP/1.1|GET /liv\xe9 HTTP/1.1|GET live HTTP/1.1',
  'GET ?a HTTP/1.1|GET #a HTTP/1.1|GET \\live HTTP/1.1|GET x:80 HTTP/1.1|GET * HTTP/1.1|GET http:/live HTTP/1.1',
  'GET http:// HTTP/1.1|GET http://x HTTP/1.1|GET ftp://x/live/ HTTP/1.1|GET /live HTTP/|GET /live HTTP/1',
  'GET /live HTTP/1.|GET /live HTTP/.1|GET /live HTTP/1.2|GET /live HTTP/1.10|GET /live HTTP/01.1',
  'GET /live HTTP/1,1|GET /live HTTP/11|GET /live HTTP/3|GET /live http/1.1|GET /live HTTPS/1.1',
  'GET /live XTTP/1.1|GET /live ICE/1.0|PRI * HTTP/1.1|CONNECT /live HTTP/1.1|CONNECT x HTTP/1.1',
  'CONNECT [::1]:443 HTTP/1.1|TRACE / HTTP/1.1|OPTIONS /nope HTTP/1.1|M-SEARCH * HTTP/1.1|PURGE /live HTTP/1.1',
  'LINK /live HTTP/1.1|COPY /live HTTP/1.1|TRACK /live HTTP/1.1|BREW /live HTTP/1.1|PROPFIND /live HTTP/1.1',
  `GET /live?${'x'.repeat(100_000)} HTTP/1.1|GET /api/v1/consents/${'x'.repeat(15_000)} HTTP/1.1`,
)

export const badHeaders = each(
  'X|X y|: y| X: y|\tX: y|X Y: z|X : y|X\t: y|X(: y|@: y|X\xe9: y|X\0: y|"X": y|X: \0|X: a\0b|X: \x01|X: \x7f',
  'X: a\nY: b|X: a\rY: b|X: a\r\n b|X: a\r\n\tb|X: a\r\r\nY: b|Host: x|Host: y|HOST: x|Host:',
  'Content-Length: -1|Transfer-Encoding: x',
  `X: ${'y'.repeat(17_000)}|${'X'.repeat(17_000)}: y|X: y${'\r\nX: y'.repeat(9000)}`,
)

export const badStarts: Row[] = [
  ['NUL', ({ head }) => `\0${head('GET /live HTTP/1.1')}`],
  ['a byte order mark', ({ head }) => `\xef\xbb\xbf${head('GET /live HTTP/1.1')}`],
  ['a header', ({ head }) => `X: y\r\n${head('GET /live HTTP/1.1')}`],
  ['the greeting of TLS', () => '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03'],
  ['the greeting of SSH', () => 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['the greeting of SMTP', () => 'EHLO example.com\r\n'],
  ['a command of Redis', () => '*1\r\n$4\r\nPING\r\n'],
  ['a query of PostgreSQL', () => '\0\0\0\x08\x04\xd2\x16\x2f'],
  ['a line of PROXY', ({ head }) => `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${head('GET /live HTTP/1.1')}`],
  ['the signature of PROXY 2', () => '\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c'],
  ['an answer', () => 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ['bare line feeds for ends', () => 'GET /live HTTP/1.1\nHost: x\nConnection: close\n\n'],
  ['bare carriage returns for ends', () => 'GET /live HTTP/1.1\rHost: x\r\r'],
  ['a head without Host', () => 'GET /live HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ['a folded Host', () => 'GET /live HTTP/1.1\r\nHost:\r\n x\r\nConnection: close\r\n\r\n'],
  ['two Hosts of HTTP/1.0', () => 'GET /live HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n'],
]

/** Requests that end before they are whole. */
export const cutShort: Row[] = [
  ['a method', () => 'GE'],
  ['a line of HTTP/0.9', () => 'GET /live\r\n'],
  ['half a line', () => 'GET /live HT'],
  ['half a head', ({ head }) => head('GET /live HTTP/1.1').slice(0, -2)],
  ['half a header', ({ head }) => head('GET /live HTTP/1.1').slice(0, -9)],
  ['half a body', parts => parts.post([length(parts)], parts.body.slice(0, 9))],
  ['no body', parts => parts.post([length(parts)], '')],
  ['half a size', parts => parts.post([parts.coding], '2')],
  ['half a chunk', parts => parts.post([parts.coding], '2\r\n{')],
  ['chunks without the last', parts => parts.post([parts.coding], parts.chunked().slice(0, -5))],
  ['a last chunk without its end', parts => parts.post([parts.coding], parts.chunked().slice(0, -2))],
  ['a chunk of 2^64 - 1 bytes', parts => parts.post([parts.coding], `ffffffffffffffff\r\n${parts.body}`)],
]
