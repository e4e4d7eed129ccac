import { counting } from './counting.ts'

/** Counts on in a journal until it is killed, several at once, and prints each number that is on the disk. */
const [, , folder = '', job = ''] = process.argv
const journals = counting(folder)
let last = 0
const run = await journals.find(job).catch(() => null)
if (run) {
  for await (const [, number] of journals.before(run)) last = number
  for await (const [, number] of journals.since(run)) last = number
}
const journal = run
  ? await journals.resume(run)
  : await journals.create({ job, pid: process.pid, note: 'counts' })
for (;;) {
  const numbers = Array.from({ length: 8 }, () => {
    last += 1
    return last
  })
  await Promise.all(
    numbers.map(async number => {
      await journal.write(['n', number])
      process.stdout.write(`${number}\n`)
    }),
  )
}
