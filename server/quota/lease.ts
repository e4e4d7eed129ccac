// What a lease of units may be.

/** How long a node holds a lease, in milliseconds; what it has not spent by then goes back. */
export const leaseTime = 1000
/** For others to wait for it: giving it back takes a while too. */
export const returnTime = 2 * leaseTime
/** Units of a lease at most. */
export const largestLease = 1000
/** Of a node that found nothing, in milliseconds: how often it looks again meanwhile, and how long it then says so. */
export const pauses = { look: 50, refusal: 200 } as const
