import type { Endpoint } from './endpoint.ts'

export function pathOf({ path }: Pick<Endpoint, 'path'>, params: unknown): string {
  return path.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(String((params as Record<string, unknown>)[name])),
  )
}
