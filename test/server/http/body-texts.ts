// Bodies as texts and bytes: what JSON, UTF-8 and the limits of a body refuse, and what they keep.
import { gzipSync } from 'node:zlib'

/** Makes a body of the members it is given and of all that the endpoint requires. */
export type Body = (members?: string) => string

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map(part => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))

/** A body whose free field holds a text with these bytes in its middle. */
const inside = (body: Body, free: string, middle: number[]) => {
  const [before = '', after = ''] = body(`"${free}":{"a":"x|y"}`).split('|')
  return bytes(before, middle, after)
}

/** The body in another encoding, given the code units of each character in little-endian order. */
const utf32 = (text: string) =>
  Buffer.from([...text].flatMap(character => [character.charCodeAt(0), 0, 0, 0]))

/** Bodies that are not JSON in UTF-8: `[what, body]`. */
export const notJson: [what: string, make: (body: Body, free: string) => string | Uint8Array][] = [
  ['UTF-16 with a byte order mark', body => Buffer.from(`\ufeff${body()}`, 'utf16le')],
  ['UTF-16 in big-endian order', body => Buffer.from(body(), 'utf16le').swap16()],
  ['UTF-32', body => utf32(body())],
  ['UTF-7', body => body().replace('{', '+AHs-')],
  ['gzip', body => gzipSync(body())],
  ['base64', body => btoa(body())],
  ['percent-encoding', body => encodeURIComponent(body())],
  ['a form', () => 'accepted=true'],
  ['XML', () => '<accepted>true</accepted>'],
  ['YAML', () => 'accepted: true\n'],
  ['two lines of NDJSON', body => `${body()}\n${body()}`],
  ['JSONP', body => `callback(${body()})`],
  ['a guard against inclusion', body => `)]}',\n${body()}`],
  ['a lone continuation byte', (body, free) => inside(body, free, [0x80])],
  ['a cut sequence', (body, free) => inside(body, free, [0xf0, 0x9f, 0x99])],
  ['NUL as two bytes', (body, free) => inside(body, free, [0xc0, 0x80])],
  ['a surrogate pair in six bytes', (body, free) => inside(body, free, [0xed, 0xa0, 0xbd, 0xed, 0xb9, 0x82])],
  ['a code point above U+10FFFF', (body, free) => inside(body, free, [0xf4, 0x90, 0x80, 0x80])],
  ['a sequence of five bytes', (body, free) => inside(body, free, [0xf8, 0x88, 0x80, 0x80, 0x80])],
  ['é in Latin-1', (body, free) => inside(body, free, [0xe9])],
  ['a NUL byte in a text', (body, free) => inside(body, free, [0])],
  ['a line break in a text', (body, free) => inside(body, free, [0x0a])],
  ['a tab in a text', (body, free) => inside(body, free, [0x09])],
  ['U+001F in a text', (body, free) => inside(body, free, [0x1f])],
  ['a NUL byte before the body', body => `\0${body()}`],
  ['a NUL byte after the body', body => `${body()}\0`],
  ['a form feed before the body', body => `\f${body()}`],
  ['a no-break space before the body', body => `\u00a0${body()}`],
  ['a line separator after the body', body => `${body()}\u2028`],
  ['a byte order mark after the body', body => `${body()}\ufeff`],
  ['a comment after #', body => `${body()} # all`],
  ['a comment after //', body => `${body()} // all`],
  ['a second closing brace', body => `${body()}}`],
  ['a comma before the body', body => `,${body()}`],
  ['two commas', body => body('"accepted":true,,')],
  ['no closing brace', body => body().slice(0, -1)],
  ['no closing quote', body => body('"accepted').slice(0, -1)],
  ['no colon', body => body('"accepted" true')],
  ['two colons', body => body('"accepted"::true')],
  ['an equals sign', body => body('"accepted"=true')],
  ['a semicolon', body => `${body('"accepted":true').slice(0, -1)};}`],
  ['a key without quotes', body => body('accepted:true')],
  ['single quotes', body => body("'accepted':true")],
  ['a number as key', body => body('1:true')],
  ['true in capitals', body => body('"accepted":TRUE')],
  ['True', body => body('"accepted":True')],
  ['undefined', body => body('"accepted":undefined')],
]

/** Values that no JSON has, or that cannot be kept as they are written, as JSON text. */
export const notValues: [what: string, json: string][] = [
  ['NaN', 'NaN'],
  ['Infinity', 'Infinity'],
  ['-Infinity', '-Infinity'],
  ['a plus sign', '+1'],
  ['two minus signs', '--1'],
  ['a minus sign alone', '-'],
  ['a leading zero', '01'],
  ['no digit before the point', '.5'],
  ['no digit after the point', '5.'],
  ['an exponent without digits', '1e'],
  ['an exponent with a sign alone', '1e+'],
  ['hexadecimal digits', '0x10'],
  ['binary digits', '0b1'],
  ['digits set apart', '1_000'],
  ['a bigint', '1n'],
  ['digits of another script', '\u0661'],
  ['an escape of JavaScript', '"\\x41"'],
  ['an escape in braces', '"\\u{41}"'],
  ['an escape of three digits', '"\\u041"'],
  ['an escaped quote of another kind', '"\\\'"'],
  ['an escape at the end', '"\\"'],
  ['an elision', '[1,,2]'],
  ['a trailing comma in a list', '[1,]'],
  ['a bracket closed by a brace', '[1}'],
  ['a template', '`x`'],
  ['a function', 'function(){}'],
  ['a date', 'new Date(0)'],
  ['a decimal of more digits than a double has', '0.1000000000000000055'],
  ['an integer of a fraction of 20 digits', '1.00000000000000000001'],
  ['a number below the smallest double', '3e-324'],
  ['-0.0', '-0.0'],
  ['-0e1', '-0e1'],
  ['2^53', '9007199254740992'],
  ['1e16', '1e16'],
  ['a key twice, escaped in two ways', '{"/":1,"\\/":1}'],
  ['a key of a surrogate pair twice, once escaped', '{"\u{1d4b3}":1,"\\ud835\\udcb3":2}'],
  ['an empty key twice', '{"":1,"":1}'],
  ['a key twice around an object', '{"a":1,"b":{"a":1},"a":2}'],
  ['10,000 keys that are one', `{${'"a":1,'.repeat(9999)}"a":1}`],
  ['10,000 keys', `{${Array.from({ length: 10_000 }, (_, index) => `"${index}":1`).join()}}`],
  ['a key of 17 KiB', `{"${'x'.repeat(17_408)}":1}`],
  ['a text of 17 KiB', `"${'x'.repeat(17_408)}"`],
  ['a list of 10,000 numbers', `[${'1,'.repeat(9999)}1]`],
  ['9 levels of objects', '{"a":'.repeat(8) + 1 + '}'.repeat(8)],
  ['9 levels of lists', '['.repeat(8) + ']'.repeat(8)],
  ['33 levels', '['.repeat(33) + ']'.repeat(33)],
]

/** Values that look dangerous and must be kept as they are, as JSON text. */
export const keptValues: [what: string, json: string][] = [
  [
    'what every object has',
    '{"constructor":{"prototype":{"polluted":true}},"toString":null,"hasOwnProperty":1}',
  ],
  ['nearly __proto__', '{"__PROTO__":1,"__proto__ ":2,"_proto_":3,"__defineGetter__":4}'],
  ['what JSON.stringify minds', '{"toJSON":"x","undefined":null,"NaN":0}'],
  ['keys that differ in case', '{"a":1,"A":2}'],
  ['keys that differ in normalisation', '{"\u00e9":1,"e\u0301":2}'],
  ['keys that differ in white space', '{"a":1,"a ":2," a":3,"a\\n":4}'],
  ['keys that look like numbers', '{"1":"a","01":"b","1.0":"c","-0":"d","1e0":"e"}'],
  ['keys in no order', '{"b":1,"10":2,"a":3,"9":4}'],
  ['an empty key', '{"":{"":[]}}'],
  ['a key with a quote, a dot and a dollar', '{"a\\"b":1,"a.b":2,"$a":3,"a[0]":4}'],
  ['a delete character', '"\u007f"'],
  ['U+2028 and U+2029', '"\u2028\u2029"'],
  ['every escape', '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u0001"'],
  ['the escape of NUL as text', '"\\\\u0000"'],
  ['a surrogate pair as escapes', '"\\uD83D\\uDE42"'],
  ['noncharacters', '"\ufdd0\ufffe\uffff\u{1ffff}"'],
  ['a byte order mark inside', '"\ufeffa"'],
  ['a replacement character', '"\ufffd"'],
  ['the largest integers', '[9007199254740991,-9007199254740991]'],
  ['an integer in other words', '[1.0,1e2,100e-2,1E+2,0.1e1]'],
  ['fractions', '[0.1,0.30000000000000004,4.35,123456789.12345679,-0.5e-7]'],
  ['the smallest doubles', '[5e-324,2.2250738585072014e-308,1e-300]'],
  ['zero in other words', '[0.0,0e5,0.000e-9,0e400]'],
  ['17 digits', '0.10000000000000001'],
  ['8 levels', `{"a":${'['.repeat(6)}${']'.repeat(6)}}`],
  ['a list of every kind', '[null,true,false,0,"",[],{}]'],
  ['5,000 numbers', `[${'1,'.repeat(4999)}1]`],
  ['white space around everything', '\t\r\n { "a" : [ 1 , 2 ] } \n'],
]
