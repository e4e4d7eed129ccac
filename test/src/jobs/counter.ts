import { countingJobs } from './counting.ts'

/** Counts on in a job until it is killed, eight events at once, and prints each number that is on the disk. */
const [, , folder = '', job = ''] = process.argv
const jobs = countingJobs(folder)
const found = await jobs.find(job).catch(() => null)
const held = found ? await jobs.resume(found) : await jobs.create({ job, note: 'counts' })
let last = 0
for (const run of held.earlierRuns) for await (const [, number] of run()) last = number
for (;;) {
  const numbers = Array.from({ length: 8 }, () => {
    last += 1
    return last
  })
  await Promise.all(
    numbers.map(async number => {
      await held.append(['n', number])
      process.stdout.write(`${number}\n`)
    }),
  )
}
