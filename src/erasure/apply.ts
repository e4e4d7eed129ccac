import type { Event, Job } from './job.ts'
import { restOf } from './rest.ts'

/** Takes an event into account. */
export function apply(job: Job, event: Event): void {
  switch (event[0]) {
    case 'p':
      job.targets.set(event[1].id, event[1])
      break
    case 'P':
      job.isPlanned = true
      break
    case 's':
      if (job.sent.has(event[1])) job.lost.add(event[1]) // what was sent before was never heard of again
      job.sent.add(event[1])
      break
    case 'd':
      job.done.set(event[1].id, event[1])
      break
    case 'f':
      if (event[3]) job.lost.add(event[1])
      job.sent.delete(event[1])
      break
    case 'B':
      job.lostAnswers += 1
      break
    case 'b':
      job.lostAnswers -= 1
      job.answers.push(event[1])
      break
    case 'F':
      if (!event[1]) job.lostAnswers -= 1
      break
    case 'e':
      for (const record of restOf(job)) job.done.set(record.id, record)
      job.isErased = true
      break
    case 'c':
      job.clockOffset = event[1]
  }
}
