// For `node --import`: shifts the time of day by TEST_CLOCK_SHIFT_MS, until SIGUSR2 turns that off, or on again.
const RealDate = Date
const shiftMs = Number(process.env.TEST_CLOCK_SHIFT_MS)
let shift = shiftMs

globalThis.Date = class extends RealDate {
  constructor(...values) {
    if (values.length === 0) super(RealDate.now() + shift)
    else super(...values)
  }
  static now() {
    return RealDate.now() + shift
  }
}

process.on('SIGUSR2', () => {
  shift = shift === 0 ? shiftMs : 0
})
