import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'

export function findCertificateProblem(file: string): string | null {
  try {
    const pems = readFileSync(file, 'utf8').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)
    for (const pem of pems ?? ['']) new X509Certificate(pem)
    return null
  } catch {
    return `${file} is not a file of certificates in PEM`
  }
}
