import { beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { expectKept, newOwner, type Owner } from '../consents/records.ts'
import { useRecordCount } from './record-count.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})
const recordCount = useRecordCount(service)

/** Texts that some software on the way would read, cut, fold or repair. */
const texts: [what: string, text: string][] = [
  ['a quote', "'"],
  ['a doubled quote', "''"],
  ['a quote and a backslash', "\\'"],
  ['a condition that is always true', "' or '1'='1"],
  ['a union', "' union select key_hash from api_keys --"],
  ['a second statement', '1; drop table consents'],
  ['a dollar quote', '$$ || pg_sleep(10) || $$'],
  ['a cast', "x'::uuid"],
  ['a comment', '/* -- */ # --'],
  ['patterns of like', '%_\\%'],
  ['a placeholder', '$1 ? :name %s {0} $\u007bx}'],
  ['an identifier', '"consents"'],
  ['a backslash at the end', 'a\\'],
  ['a template', '{{7*7}} <%= 7*7 %> #{7*7} $\u007b{7*7}}'],
  ['a look-up', '$\u007bjndi:ldap://127.0.0.1/a}'],
  ['a command', '$(reboot) `reboot` | reboot & reboot'],
  ['a path', '../../../../etc/passwd'],
  ['a path of Windows', 'C:\\con\\nul .'],
  ['a tag', '<script>alert(1)</script>'],
  ['an entity', '&lt;&#0;&amp;'],
  ['an external entity', '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>'],
  ['a formula', '=cmd|"/c calc"!A1'],
  ['a formula after a tab', '\t=1+1'],
  ['a header', 'a\r\nSet-Cookie: a=b\r\n\r\n'],
  ['an escape sequence of a terminal', '\u001b]0;title\u0007\u001b[2J'],
  ['a control sequence in one character', '\u009b31m'],
  ['a backspace', 'abc\b\b\bxyz'],
  ['line ends of every kind', 'a\nb\rc\r\nd\u0085e\u2028f\u2029g\vh\fi'],
  ['a line break at the end', 'a\n'],
  ['spaces around', '  a  '],
  ['a no-break space', '\u00a0a\u00a0'],
  ['spaces of every width', '\u2000\u2003\u2009\u202f\u205f\u3000'],
  ['nothing to see', '\u200b\u200c\u200d\u2060\u00ad\ufeff'],
  ['a byte order mark first', '\ufeffa'],
  ['a swapped byte order mark', '\ufffea'],
  ['right to left', 'מריה@example.com'],
  ['an override of the direction', '\u202egnp.exe\u202c'],
  ['isolates of the direction', '\u2066a\u2067b\u2069\u2069'],
  ['Arabic with its vowels', 'مَرْحَبًا'],
  ['Thai', 'กำแพงมีหู'],
  ['Devanagari', 'क्षत्रिय'],
  ['Hangul, composed', '한글'],
  ['Hangul, decomposed', '\u1112\u1161\u11ab'],
  ['a ligature', 'ﬁ'],
  ['full-width letters', 'ＭＡＲＩＡ'],
  ['letters that look alike', 'раураl.com'],
  ['a long s and a Kelvin sign', 'ſK'],
  ['a dotless i', 'ıIiİ'],
  ['a sharp s', 'ßẞSS'],
  ['a final sigma', 'ΣΑΣ σας'],
  ['ten combining marks', `a${'\u0301'.repeat(10)}`],
  ['255 combining marks', '\u0300'.repeat(255)],
  ['marks in an order that would be changed', 'q\u0307\u0323'],
  ['a compatibility ideograph', '\uf900'],
  ['an emoji', '🙂'],
  ['an emoji with a skin', '👍🏿'],
  ['a family', '👨‍👩‍👧‍👦'],
  ['a flag', '🇩🇪🏴󠁧󠁢󠁥󠁮󠁧󠁿'],
  ['half a flag', '🇩'],
  ['variation selectors', '☺\ufe0e☺\ufe0f'],
  ['tag characters', '\u{e0041}\u{e007f}'],
  ['a private character', '\ue000\u{10fffd}'],
  ['a replacement character', '\ufffd'],
  ['an unassigned character', '\u0378\u{3ffff}'],
  ['every control character but NUL', String.fromCharCode(...Array.from({ length: 31 }, (_, i) => i + 1))],
  ['all of ASCII but NUL', String.fromCharCode(...Array.from({ length: 127 }, (_, i) => i + 1))],
  ['words of JSON', 'null true false NaN undefined'],
  ['JSON', '{"a":[1,"\\u0000"]}'],
  ['a number', '007'],
  ['a number in exponents', '1e3'],
  ['a date', '2026-02-30'],
  ['what PostgreSQL calls null', '\\N'],
  ['an array of PostgreSQL', '{NULL,"a"}'],
  ['a percent-encoding', '%00%2e%zz%'],
  ['a plus sign', 'maria+shop@example.com'],
  ['pairs of a query', 'a=b&c=d;e=f#g?h'],
  ['names of objects', '__proto__.constructor.prototype'],
  ['base64', 'AAAA//8='],
]

describe('hostile strings', () => {
  it.each(texts)('are stored unchanged, and no other string matches them: %s', async (_what, text) => {
    const fields = {
      subject_id: text,
      consent_id: text,
      user_agent: text,
      preferences: { [text]: [{ a: text }] },
    }
    const answer = await owner.post({ site_id: owner.siteId, ...fields })
    recordCount.add(answer)
    expect(answer.status, answer.text).toBe(201)
    expectKept(answer.body, fields)
    expect((await owner.get(answer.body.id)).body).toEqual(answer.body)
    const filters = [{ subject_id: text }, { consent_id: text }, { subject_id: text, consent_id: text }]
    for (const filter of filters) expect((await owner.list(filter)).body.data).toEqual([answer.body])
    const escaped = [...Buffer.from(text)].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')
    expect((await owner.list(`subject_id=${escaped}`)).body.data).toEqual([answer.body])
    expect((await owner.history(answer.body.id)).body.data[0].preferences).toEqual(fields.preferences)
  })
})
