import type { Event } from '../contract/events.ts'
import type { View } from '../output/index.ts'
import { field, second } from './field.ts'

export const eventView: View<Event> = {
  id: row => String(row.position),
  columns: [
    field('position', { whole: true, rank: 3 }),
    field('at', { text: row => second(row.at ?? ''), whole: true, rank: 1 }),
    field('type', { whole: true, rank: 2 }),
    { name: 'purposes', text: purposesOf, value: ({ purposes }) => purposes, rank: 4 },
    field('accepted'),
    field('record_id', { whole: true, rank: 5 }),
    field('version'),
    field('site_id', { rank: 6 }),
    field('actor_kind'),
    {
      name: 'target',
      text: ({ target }) => (target ? `${target.kind} ${target.id}` : ''),
      value: ({ target }) => target,
    },
    field('hash', { onRequest: true }),
  ],
}

function purposesOf({ purposes }: Event): string {
  const word = (value: boolean | null) => (value === null ? 'none' : String(value))
  return Object.entries(purposes ?? {})
    .map(([name, [before, after]]) => `${name}: ${word(before)} → ${word(after)}`)
    .join(', ')
}
