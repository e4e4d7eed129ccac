// Runs schedules: npm run simulate -- [--seed N] [--schedules N] [--fault ID] [--digests]
// `--seed` alone prints what happens in that schedule. Exits with 1 at the first schedule that breaks a promise.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { loadSimulation } from './bundle.js'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    schedules: { type: 'string' },
    fault: { type: 'string' },
    digests: { type: 'boolean' },
  },
})
const isOne = values.seed !== undefined && values.schedules === undefined
const first = Number(values.seed ?? 1)
const count = isOne ? 1 : Number(values.schedules ?? 5000)

const faults = JSON.parse(readFileSync(new URL('faults.json', import.meta.url), 'utf8'))
const planted = faults.filter(({ id }) => id === values.fault)
if (values.fault !== undefined && planted.length === 0) {
  process.stderr.write(`unknown fault "${values.fault}": use ${faults.map(({ id }) => id).join(', ')}\n`)
  process.exit(2)
}

const { simulate } = await loadSimulation(planted)
if (!isOne) Error.stackTraceLimit = 0 // a tenth of the CPU; the replay of a seed has the stacks
const startedAt = performance.now()
let events = 0
for (let seed = first; seed < first + count; seed += 1) {
  const result = await simulate(seed, isOne)
  events += result.events
  if (isOne) process.stdout.write(`${result.log.join('\n')}\n`)
  if (values.digests) process.stdout.write(`${seed} ${result.digest}\n`)
  if (result.problems.length === 0) continue
  const command = `npm run simulate -- --seed ${seed}${values.fault === undefined ? '' : ` --fault ${values.fault}`}`
  const problems = result.problems.map(problem => `  ${problem}\n`).join('')
  process.stdout.write(`schedule ${seed - first + 1} breaks a promise:\n${problems}to see it: ${command}\n`)
  process.exit(1)
}
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
process.stdout.write(`${count} schedules kept every promise: ${events} events in ${seconds} s\n`)
process.exit(0) // timers of Node's own HTTP remain
