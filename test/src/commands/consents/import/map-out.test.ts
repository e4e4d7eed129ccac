import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { run, useFolder } from '../../../../support/cli.ts'

const folder = useFolder()

async function guess(header: string, row: string) {
  const [file, path] = [join(folder.path, 'people.csv'), join(folder.path, `${Math.random()}.json`)]
  writeFileSync(file, `${header}\n${row}\n`)
  const { code, stderr } = await run(['import', file, '--from', 'csv', '--map-out', path])
  expect(code, stderr).toBe(0)
  const { fields, time } = JSON.parse(readFileSync(path, 'utf8'))
  return [fields.origin_id, fields.given_at, fields.subject_id, fields.accepted, ...time.formats]
}

it.each([
  ['English', 'Key;Date;Email;Status'],
  ['German', 'Schlüssel;Datum;E-Mail-Adresse;Einwilligung'],
  ['French', 'Clé;Date;Adresse e-mail;Statut'],
  ['Spanish', 'Clave;Fecha;Correo electrónico;Estado'],
  ['Italian', 'Chiave;Data;Indirizzo email;Stato'],
  ['Portuguese', 'Chave;Data;E-mail;Estado'],
  ['Dutch', 'Sleutel;Datum;E-mailadres;Toestemming'],
  ['Swedish', 'Nyckel;Datum;E-post;Samtycke'],
  ['Danish', 'Nøgle;Dato;E-mail;Samtykke'],
  ['Polish', 'Klucz;Data;Adres e-mail;Zgoda'],
  ['Finnish', 'Avain;Päivämäärä;Sähköposti;Suostumus'],
  ['Czech', 'Klíč;Datum;E-mail;Souhlas'],
])('import --map-out guesses person, time, subject and answer in %s', async (_, header) => {
  const row = ['k1', '2024-03-05 14:30:00', 'ann@example.com', 'Open'].join(';')
  expect(await guess(header, row)).toEqual([...header.split(';'), 'YYYY-MM-DD HH:mm:ss'])
})

it.each([
  ['31.01.2024 09:30', 'DD.MM.YYYY HH:mm'],
  ['31/01/2024 09:30', 'DD/MM/YYYY HH:mm'],
  ['01/31/2024 09:30:00', 'MM/DD/YYYY HH:mm:ss'],
  ['1/31/2024 9:30 PM', 'M/D/YYYY h:mm A'],
  ['01/02/2024 09:30', 'DD/MM/YYYY HH:mm or MM/DD/YYYY HH:mm'],
])('import --map-out finds the format of %s', async (time, format) => {
  expect((await guess('Key;Date;Email', `k1;${time};ann@example.com`)).at(-1)).toBe(format)
})

it('import --map-out takes no column for a consent whose yes is a no', async () => {
  const guessed = await guess('Key;Date;Email;Unsubscribed from all email', 'k;2024-03-05 14:30:00;a@b.example;yes')
  expect(guessed[3] ?? null).toBeNull()
})
