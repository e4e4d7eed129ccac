import fc from 'fast-check'

const emoji = '👩🏽' // two code points, four UTF-16 units, eight bytes

/** Values at the limits of their fields: `[what, fields]`. */
export const edgeFields: [string, object][] = [
  ['one character', { consent_id: 'x', subject_id: 'y' }],
  ['255 characters', { consent_id: 'x'.repeat(255), subject_id: 'é'.repeat(255) }],
  ['255 code points of four bytes', { consent_id: '🙂'.repeat(255), subject_id: `${emoji.repeat(127)}x` }],
  ['an empty user agent', { user_agent: '' }],
  ['1024 code points of user agent', { user_agent: '🙂'.repeat(1024) }],
  ['the lowest policy version', { policy_version: 1 }],
  ['the highest policy version', { policy_version: 2_147_483_647 }],
  ['16 KiB of preferences', { preferences: preferencesOfBytes(16_384) }],
  ['8 levels of preferences', { preferences: preferencesOfDepth(8) }],
  ['256 keys of preferences', { preferences: preferencesOfKeys(256) }],
  ['names that objects have by themselves', { preferences: { constructor: 1, toString: 2, toJSON: 'x' } }],
  ['numbers at the limits', { preferences: { a: [2 ** 53 - 1, -(2 ** 53 - 1), 5e-324, 0.1, 1e-7] } }],
]

/** Texts that something on the way could change: `[what, text]`. */
export const oddTexts: [string, string][] = [
  ['composed', 'Zo\u00eb'],
  ['decomposed', 'Zoe\u0308'],
  ['emoji', '👨‍👩‍👧‍👦🏳️‍🌈'],
  ['right to left', '\u202eשלום\u202c مرحبا'],
  ['control characters', '\u0001\t\r\n\u001b[31m\u007f\u0085'],
  ['spaces', '  a \u00a0\u2003 '],
  ['case', 'İIıi ßẞ'],
  ['noncharacters', '\uffff\ufeff\u{10ffff}'],
  ['what SQL and shells mind', `'; drop table consents; -- "\\ $1 %s`],
]

/** Preferences one above each of their limits: 16 KiB, 8 levels, 256 keys in all. */
export const largePreferences: [string, object][] = [
  ['16,385 bytes', preferencesOfBytes(16_385)],
  ['9 levels', preferencesOfDepth(9)],
  ['257 keys', preferencesOfKeys(257)],
]

export function preferencesOfBytes(bytes: number): object {
  return { a: 'é'.repeat(100) + 'x'.repeat(bytes - 200 - '{"a":""}'.length) }
}

/** The object itself is the first level; arrays count like objects. */
export function preferencesOfDepth(levels: number): object {
  let value: object = {}
  for (let level = 1; level < levels; level += 1) value = level % 2 && level < levels - 1 ? [value] : { a: value }
  return value
}

/** Half of the keys are one level down. */
export function preferencesOfKeys(keys: number): object {
  const half = Array.from({ length: Math.floor(keys / 2) }, (_, index): [string, number] => [`k${index}`, index])
  const inner = Array.from({ length: keys - half.length - 1 }, (_, index): [string, number] => [`i${index}`, index])
  return { ...Object.fromEntries(half), inner: Object.fromEntries(inner) }
}

/** Addresses and what is kept of them. */
export const networks: [string, string][] = [
  ['203.0.113.38', '203.0.113.0/24'],
  ['255.255.255.255', '255.255.255.0/24'],
  ['0.0.0.0', '0.0.0.0/24'],
  ['2001:0DB8:C8A0:0000:0000:0000:4DED:07E0', '2001:db8:c8a0::/48'],
  ['2001:db8:0:ffff::1', '2001:db8::/48'],
  ['::1', '::/48'],
  ['::ffff:203.0.113.38', '203.0.113.0/24'],
  ['64:ff9b::192.0.2.33', '64:ff9b::/48'],
]

/** Texts that some parsers of addresses or URLs take. */
export const noAddresses = [
  ...'256.0.0.1 1.2.3 1.2.3.4.5 01.2.3.4 0x7f.1 1.2.3.4/24 1.2.3.4:80 １.2.3.4 2130706433 localhost'.split(' '),
  ...'::: 1::2::3 ::ffff:1.2.3.256 12345:: 1:2:3:4:5:6:7:8:9 ::1%eth0 ::/48 [::1]'.split(' '),
  ...'::1]/[ ::1]:80/[ ::1]?[ ::1]#[::1 x@[::1'.split(' '),
  ...[' 1.2.3.4', '1.2.3.4\n', '::1\n', '\t::1', '1.2.3.4, 5.6.7.8'],
]

const noLanguages = ['', 'true', 'de_DE', 'de-', 'x', 'de\n', 'i-klingon', `de${'-abcdefgh'.repeat(4)}`]

/** Values of the right type just out of their fields' limits: `[field, value]`. */
export const fieldsBeyondLimits: [string, unknown][] = [
  ['site_id', 'x'],
  ['site_id', 'urn:uuid:01890000-0000-7000-8000-000000000000'],
  ['consent_id', 'x'.repeat(256)],
  ['subject_id', `${emoji.repeat(127)}xy`],
  ['subject_id', 'a\0b'],
  ['consent_id', '\ud83d'],
  ['user_agent', '🙂'.repeat(1025)],
  ['user_agent', '\0'],
  ...noLanguages.map((tag): [string, unknown] => ['notice_locale', tag]),
  ['policy_version', 0],
  ...largePreferences.map(([, value]) => ['preferences', value] as [string, unknown]),
]

/** Any text that a field keeps. */
export function anyText(maxLength: number): fc.Arbitrary<string> {
  return fc.string({ unit: 'binary', minLength: 1, maxLength }).filter(text => !/\0|__proto__/.test(text))
}

/** Any preferences well inside their limits, without -0, which JSON.stringify does not keep. */
export function anyPreferences(): fc.Arbitrary<Record<string, unknown>> {
  const number = fc.oneof(
    fc.maxSafeInteger(),
    fc.double({ min: -1, max: 1, noNaN: true }).map(value => value + 0),
  )
  const plain = fc.oneof(anyText(40), fc.boolean(), fc.constant(null), number)
  const value = fc.oneof(
    plain,
    fc.array(plain, { maxLength: 5 }),
    fc.dictionary(anyText(5), plain, { noNullPrototype: true }),
  )
  return fc.dictionary(anyText(10), value, { noNullPrototype: true, maxKeys: 6 })
}
