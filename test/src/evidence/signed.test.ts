import { expect, it } from 'vitest'
import { keyIdOf, newSigningKey, publicKeyOf, signingKeyOf } from '../../../src/evidence/keys.ts'
import { readSigned, signDocument } from '../../../src/evidence/signed.ts'

const key = signingKeyOf(Buffer.alloc(32, 5))
const document = {
  type: 'test',
  version: 1,
  text: 'é\u202e\u007f😀 "quoted" \\ \n',
  list: [{}, [], null, 1.5, true],
  key_id: keyIdOf(key),
}
const text = signDocument(document, key)

it('a key id is the thumbprint of RFC 8037', () => {
  const bytes = Buffer.from('11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', 'base64url')
  expect(keyIdOf(publicKeyOf(bytes))).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
})

it('a signed document is ASCII JSON, and is read back unchanged', () => {
  expect(text).toMatch(/^[\n -~]+$/)
  expect(JSON.parse(text)).toEqual({ ...document, signature: expect.any(String) })
  const claimed = readSigned(Buffer.from(text))
  expect(claimed.document).toEqual(document)
  expect(claimed.isSignedBy(key)).toBe(true)
  expect(claimed.isSignedBy(newSigningKey())).toBe(false)
})

it('when any one bit is changed, a signed document is invalid', () => {
  const bytes = Buffer.from(text)
  for (let index = 0; index < bytes.length * 8; index += 1) {
    const changed = Buffer.from(bytes)
    changed[index >> 3] = (changed[index >> 3] ?? 0) ^ (1 << (index & 7))
    expect(isValid(changed), `bit ${index}`).toBe(false)
  }
  expect(isValid(Buffer.concat([bytes, Buffer.from('\n')]))).toBe(false)
  expect(isValid(bytes.subarray(0, -1))).toBe(false)
})

it.each([
  ['nothing', ''],
  ['JSON without a signature', '{\n  "type": "test"\n}\n'],
  ['a key given twice', text.replace('"type": "test",', '"type": "test",\n  "type": "test",')],
  ['no type', text.replace('"type": "test",\n  ', '')],
  ['a signature written in another way', text.replace(/[AQgw](?===")/, 'B')],
])('rejects %s', (_, wrong) => {
  expect(() => readSigned(Buffer.from(wrong))).toThrow(SyntaxError)
})

function isValid(bytes: Buffer): boolean {
  try {
    return readSigned(bytes).isSignedBy(key)
  } catch {
    return false
  }
}
