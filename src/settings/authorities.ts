import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import tls from 'node:tls'
import { settingsError } from '../errors/errors.ts'
import type { Sourced } from './folders.ts'

const certificate = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g

/**
 * Node's authorities and those of a PEM file. `extra` is NODE_EXTRA_CA_CERTS, which Node ignores when authorities are
 * given. @throws CliError (settings)
 */
export async function readAuthorities({ value: file, source }: Sourced, extra: string | undefined): Promise<string[]> {
  const text = await readFile(file, 'latin1').catch((error: NodeJS.ErrnoException) => {
    throw settingsError(`${source}: cannot read ${file} (${error.code})`)
  })
  const own = text.match(certificate) ?? []
  if (own.length === 0 || !own.every(isCertificate)) {
    throw settingsError(`${source}: ${file} does not hold certificates in PEM`)
  }
  return [...(await defaultAuthorities(extra)), ...own]
}

async function defaultAuthorities(extra: string | undefined): Promise<readonly string[]> {
  const { getCACertificates, rootCertificates } = tls as typeof tls & {
    getCACertificates?(type: 'default'): string[] // since Node 22.15; includes NODE_EXTRA_CA_CERTS
  }
  if (getCACertificates) return getCACertificates('default')
  const more = extra ? await readFile(extra, 'latin1').catch(() => '') : ''
  return [...rootCertificates, ...(more.match(certificate) ?? [])]
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem)
    return true
  } catch {
    return false
  }
}
