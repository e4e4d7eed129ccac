import type { KeyObject } from 'node:crypto'
import type { Context } from '../../context.ts'

/** The keys that the profile itself signs with, or their public halves; none where it has signed nothing. */
export async function ownKeys(_ctx: Context): Promise<readonly KeyObject[]> {
  return []
}
